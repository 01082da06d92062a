import { count as formatCount } from '../core/count.ts'
import { GdnError } from '../core/errors.ts'
import { SeededRandom } from '../core/random-words.ts'
import { explainProof } from './describe.ts'
import { createDiagram, type Diagram } from './diagram.ts'
import { explainDeviations } from './edition-report.ts'
import { findSizeBounds } from './largest.ts'
import { buildProblem, type EditionProblem, lowerUnreachableCounts } from './problem.ts'
import { type Proof, prove } from './prove.ts'
import { findRows, type Rows } from './rows.ts'
import type { Art, Deviation, Edition, EditionItem } from './types.ts'

/** Maximum number of traits that an error lists. */
const MAX_LISTED_TRAITS = 20
/** Maximum number of searches that shift NFTs from impossible weights to other values. */
const MAX_BALANCE_SEARCHES = 2

export interface EditionOptions {
  /** The number of NFTs, including one-of-ones. */
  count: number
  /** Any text. The same seed produces the same edition on every machine. */
  seed: string
  /** Whether to refuse an edition that deviates from a weight. */
  strict?: boolean | undefined
}

/**
 * Generates an edition of distinct combinations that satisfies the rules and the exact counts.
 *
 * @throws GdnError `art_impossible` with a proof, `art_undecided` if the search found neither an edition nor a proof,
 * `art_deviates` if a weight isn't met and `strict` is set, `invalid_config` if a one-of-one has a larger number
 */
export function makeEdition(art: Art, { count, seed, strict = false }: EditionOptions): Edition {
  const problem = buildLayersProblem(art, count)
  const diagram = createDiagram(problem.sizes, problem.clauses)
  const solution = solve(problem, diagram, seed)
  const smaller = () => {
    const { largest } = findSizeBounds(art, diagram, { seed, made: null })
    return largest === null ? '' : `\nTry --count ${largest + art.oneOfOnes.length}.`
  }
  if (solution.kind === 'impossible') {
    const reasons = explainProof(art, problem, solution.proof, diagram.total)
    throw new GdnError('art_impossible', `an edition of ${formatCount(count, 'NFT')} is impossible`, {
      place: { file: art.file },
      hint: `These rules and counts contradict each other:\n${reasons.map(({ text }) => text).join('\n')}${smaller()}`,
      details: { reasons },
    })
  }
  if (solution.kind === 'undecided') {
    throw new GdnError(
      'art_undecided',
      `gdn found neither an edition of ${formatCount(count, 'NFT')} nor a proof that none exists`,
      {
        place: { file: art.file },
        hint: `Try another --seed or fewer NFTs, or relax a rule or exact count.${smaller()}`,
      },
    )
  }
  const deviations = findDeviations(art, problem, solution.rows)
  if (strict && deviations.length > 0) {
    const listed = explainDeviations(art, problem.count, deviations)
      .slice(0, MAX_LISTED_TRAITS)
      .map(({ text }) => text)
    throw new GdnError(
      'art_deviates',
      `${formatCount(deviations.length, 'trait')} can't have the number of NFTs that the weights require`,
      {
        place: { file: art.file },
        hint: `Omit --strict to accept these differences:\n${listed.join('\n')}`,
        details: { deviations },
      },
    )
  }
  return { art, seed, items: buildItems(art, count, solution.rows, seed), deviations }
}

/**
 * Returns the `EditionProblem` for the NFTs that are made from layers.
 *
 * @throws GdnError if a one-of-one has a larger number
 */
export function buildLayersProblem(art: Art, count: number): EditionProblem {
  const beyond = art.oneOfOnes.find(({ at }) => at > count)
  if (beyond === undefined) return buildProblem(art, count - art.oneOfOnes.length)
  throw new GdnError('invalid_config', `the number ${beyond.at} is greater than the count of ${count}`, {
    place: { ...beyond.place, field: 'at' },
    hint: `Use a number from 1 to ${count}, or a larger --count.`,
  })
}

export type Solution = { kind: 'possible'; rows: Rows } | { kind: 'impossible'; proof: Proof } | { kind: 'undecided' }

export function solve(problem: EditionProblem, diagram: Diagram, seed: string): Solution {
  const proof = prove(problem, diagram)
  if (proof !== null) return { kind: 'impossible', proof }
  const rows = balancedRows(problem, diagram, seed)
  return rows === null ? { kind: 'undecided' } : { kind: 'possible', rows }
}

/**
 * Searches for rows. If some values can't have the requested number of NFTs, other values of the same layers get more
 * NFTs, in proportion to their weights. A single search would leave this to chance.
 */
function balancedRows(problem: EditionProblem, diagram: Diagram, seed: string): Rows | null {
  const { wanted } = problem
  const search = (made: EditionProblem['wanted']) => {
    const near = { ...problem, wanted: lowerUnreachableCounts(problem, made) }
    return { near, rows: findRows(near, diagram, seed) }
  }
  const isPossible = (layer: number, value: number) => diagram.withValue[layer]?.[value] !== 0n
  let best = search(
    wanted.map((counts, layer) => counts.map((count, value) => (isPossible(layer, value) ? count : 0))),
  ).rows
  for (let tries = 0; tries < MAX_BALANCE_SEARCHES && best !== null; tries++) {
    const { near, rows }: ReturnType<typeof search> = search(best.made)
    const isNearer = rows !== null && distance(rows.made, near.wanted) < distance(best.made, near.wanted)
    if (!isNearer || distance(rows.made, wanted) > distance(best.made, wanted)) break
    best = rows
  }
  return best
}

const distance = (made: EditionProblem['wanted'], wanted: EditionProblem['wanted']): number =>
  wanted.reduce(
    (sum, counts, layer) =>
      counts.reduce((total, count, value) => total + Math.abs(count - (made[layer]?.[value] ?? 0)), sum),
    0,
  )

export function findDeviations(art: Art, { wanted }: EditionProblem, { made }: Rows): Deviation[] {
  return wanted.flatMap((counts, layer) =>
    counts.flatMap((count, value) => {
      const actual = made[layer]?.[value] ?? 0
      return count === actual ? [] : [{ layer, trait: toTraitIndex(art, layer, value), wanted: count, made: actual }]
    }),
  )
}

/** Returns the index of a value's trait; -1 for "not shown". */
const toTraitIndex = ({ layers }: Art, layer: number, value: number): number =>
  value === layers[layer]?.traits.length ? -1 : value

/** Puts the rows in a random order, and inserts the one-of-ones at their numbers. */
function buildItems(art: Art, count: number, { values }: Rows, seed: string): EditionItem[] {
  const layers = art.layers.length
  const order = Int32Array.from({ length: values.length / layers }, (_, row) => row)
  new SeededRandom(seed, 'order').shuffle(order)
  const byNumber = new Map(art.oneOfOnes.map(({ at }, index) => [at, index]))
  let next = 0
  return Array.from({ length: count }, (_, index): EditionItem => {
    const number = index + 1
    const oneOfOne = byNumber.get(number) ?? null
    if (oneOfOne !== null) return { number, traits: new Int16Array(0), oneOfOne }
    const row = order[next] as number
    next += 1
    const traits = values.slice(row * layers, (row + 1) * layers)
    for (const [layer, value] of traits.entries()) traits[layer] = toTraitIndex(art, layer, value)
    return { number, traits, oneOfOne }
  })
}
