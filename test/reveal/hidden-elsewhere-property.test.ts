/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli } from '../cli/harness.ts'
import {
  backendForFile,
  createTestCollection,
  provenancesOf,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { type Kill, type KillingRelay, startKillingRelay } from '../helpers/killing-relay.ts'
import { report } from '../helpers/seed.ts'
import { nftsOf } from '../helpers/shuffled-machine.ts'

const LIVES = process.env.GDN_SOAK === '1' ? Number(process.env.GDN_SOAK_STEPS ?? 100) : 1
const [ALICE, BOB] = WALLETS

const kill: fc.Arbitrary<Kill | null> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ at: fc.nat(7), isDone: fc.boolean() }) },
)

const KINDS = [
  ...(['hide', 'hide', 'publish', 'publish', 'pipe', 'apply', 'apply piped', 'save', 'apply saved'] as const),
  ...(['resume', 'reveal'] as const),
]

const command = fc.record({
  kind: fc.constantFrom(...KINDS),
  /** The collection. */
  at: fc.constantFrom(0, 1),
  file: fc.constantFrom('a.csv', 'a.csv', 'b.csv'),
  rows: fc.shuffledSubarray([1, 2, 3, 4], { minLength: 1 }),
  /** Whether the rows have other titles, which an apply can change to the hidden ones. */
  isOld: fc.constantFrom(false, false, false, true),
  /** Whether there is a row that no commitment can have, because its description begins like the URL of a file. */
  isUnfit: fc.constantFrom(false, false, false, true),
  /** Whether the attributes are in another order. */
  isReordered: fc.constantFrom(false, false, true),
  /** Whether the rows have other IDs. Rows with the same IDs are refused as rows of the other run. */
  isRenamed: fc.constantFrom(false, false, true),
  flag: fc.constantFrom(null, null, null, '--new-rows', '--adopt', '--again', '--again', '--no-lookup'),
  kill,
})

type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

let backend: TestBackend
let relay: KillingRelay

beforeAll(async () => {
  backend = await backendForFile()
  relay = await startKillingRelay(backend)
})
afterAll(async () => {
  await relay?.close()
})

const figures: Record<string, number> = {}
const count = (what: string) => {
  figures[what] = (figures[what] ?? 0) + 1
}

/** Returns the rows whose metadata the NFTs of a collection show. */
const shownIn = async (collection: TestCollection) =>
  new Set(
    (await nftsOf(backend, collection)).flatMap(({ request_metadata: { title } }) => {
      const [, row] = /^Row (\d)$/.exec(title) ?? []
      return row === undefined ? [] : [Number(row)]
    }),
  )

async function live(commands: readonly Command[]): Promise<void> {
  const collections = [await createTestCollection(backend), await createTestCollection(backend)]
  const { path, options } = await folder({
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait', image: 'art/hidden.txt' }),
    'art/hidden.txt': 'hidden',
  })
  await mkdir(path('art'), { recursive: true })
  for (const n of [1, 2, 3, 4]) await writeFile(path(`art/${n}.txt`), `image ${n}`)
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  /** The runs that committed each collection to a row. */
  const committed = collections.map(() => new Map<number, Set<string>>())
  /**
   * The rows that the server got from a run with their metadata, by collection and run. A request without a response
   * may take effect later.
   */
  const sent = new Map<string, Set<number>>()
  /** The rows that a run may publish, because `--again` was given while they were hidden. */
  const allowed = new Map<string, Set<number>>()
  const addTo = (sets: Map<string, Set<number>>, run: string, row: number) =>
    sets.set(run, (sets.get(run) ?? new Set()).add(row))
  /** The rows that were revealed in any collection. */
  const revealed = new Set<number>()
  /** The run of the saved plan of each collection. */
  const saved = collections.map(() => '')
  for (const [step, one] of commands.entries()) {
    const { kind, at, file, rows, isOld, isUnfit, isReordered, isRenamed, flag } = one
    const here = collections[at] as TestCollection
    const other = collections[1 - at] as TestCollection
    const lines = rows.map(
      (n) =>
        `${isRenamed ? 's' : 'r'}${n},${isOld ? 'Old' : 'Row'} ${n},x,${path(`art/${n}.txt`)},${n % 2 === 0 ? ALICE : BOB},1,1`,
    )
    if (isUnfit && kind !== 'hide') lines.push(`r9,Unfit,ipfs://x,${path('art/1.txt')},${ALICE},1,1`)
    const traits = isReordered ? 'attr:b,attr:a' : 'attr:a,attr:b'
    const text = [`id,title,description,image,receiver,${traits}`, ...lines].join('\n')
    await writeFile(path(file), text)
    const target = ['-c', here.address, '-b', here.blockchain]
    const mint = ['--dynamic', '--chunk-size', '1', '--in-order', ...target]
    const argv = {
      hide: ['batch', 'mint', path(file), '--unrevealed', path('hidden.json'), '--chunk-size', '1', ...target],
      publish: ['batch', 'mint', path(file), ...mint],
      pipe: ['batch', 'mint', '-', '--run', 'piped', ...mint],
      apply: ['apply', path(file), '--yes', ...target],
      'apply piped': ['apply', '-', '--run', 'piped', '--yes', ...target],
      save: ['plan', path(file), '--out', path(`plan-${at}.json`), ...target],
      'apply saved': ['apply', path(`plan-${at}.json`), '--yes', ...target],
      resume: ['batch', 'resume', kind === 'resume' && file === 'b.csv' ? 'piped' : path(file), '-c', here.address],
      reveal: ['reveal', path(file), '--yes', '--rpc-url', `${backend.url}/rpc/polygon`, ...target],
    }[kind]
    const isMint = kind === 'hide' || kind === 'publish' || kind === 'pipe'
    const isPiped = kind === 'pipe' || kind === 'apply piped' || (kind === 'resume' && file === 'b.csv')
    if (kind === 'save') saved[at] = file
    const run = `${at} ${kind === 'apply saved' ? saved[at] : isPiped ? 'piped' : file}`
    const takesFlag =
      isMint || (flag === '--new-rows' && (kind === 'apply' || kind === 'apply piped' || kind === 'save'))
    const before = await shownIn(here)
    const shownThere = await shownIn(other)
    const isHiddenIn = (place: number, n: number) => [...(committed[place]?.get(n) ?? [])].some((by) => by !== run)
    const hidden = [1, 2, 3, 4].filter(
      (n) =>
        (isHiddenIn(1 - at, n) && !shownThere.has(n) && !revealed.has(n)) || (isHiddenIn(at, n) && !revealed.has(n)),
    )
    // A mint with placeholders allows nothing.
    const isAllowed = (kind === 'publish' || kind === 'pipe') && flag === '--again' && !isOld
    for (const n of isAllowed ? rows.filter((row) => hidden.includes(row)) : []) addTo(allowed, run, n)
    const hashes = (await provenancesOf(backend, here)).length
    const signal = relay.begin(one.kill)
    const confirmed = isMint || kind === 'resume' ? ['--yes'] : []
    const full = [
      ...argv,
      ...(takesFlag && flag !== null ? [flag] : []),
      ...confirmed,
      '--base-url',
      relay.url,
      '--json',
    ]
    const { code, stderr } = await cli(full, { ...options, env, signal, stdin: isPiped ? text : '' })
    await relay.idle()
    const commitments = await until(
      () => provenancesOf(backend, here),
      (all) => all.every(({ status }) => status !== 'initiated'),
    )
    await until(
      () => nftsOf(backend, here),
      (nfts) => nfts.every((nft) => ['deployed', 'failed'].includes(nft.status) && nft.pending_change == null),
    )
    count(`${kind}: ${relay.isKilled ? 'killed' : code}${/would publish/.test(stderr) ? ', would publish' : ''}`)
    const what = `command ${step} of ${JSON.stringify(commands.slice(0, step + 1))}\n${stderr}`
    const published = [...(await shownIn(here))].filter((n) => !before.has(n))
    const isExpected = (n: number) => sent.get(run)?.has(n) === true || allowed.get(run)?.has(n) === true
    if (kind === 'reveal') for (const n of published) revealed.add(n)
    else
      expect(
        published.filter((n) => hidden.includes(n) && !isExpected(n)),
        what,
      ).toEqual([])
    if (published.some((n) => hidden.includes(n) && allowed.get(run)?.has(n))) count('published with --again')
    for (const body of relay.bodies)
      for (const [, n] of body.matchAll(/"title":"Row (\d)"/g)) addTo(sent, run, Number(n))
    if (commitments.length > hashes)
      for (const n of isOld ? [] : rows) committed[at]?.set(n, new Set(committed[at].get(n)).add(run))
  }
}

const MINT: Omit<Command, 'kind'> = {
  at: 0,
  file: 'a.csv',
  rows: [1, 2, 3, 4],
  isOld: false,
  isUnfit: false,
  isReordered: false,
  isRenamed: false,
  flag: null,
  kill: null,
}
const PUBLISH: Command = { ...MINT, kind: 'publish' }
const HIDE: Command = { ...MINT, kind: 'hide', at: 1 }

/** Published in part, then hidden elsewhere, then resumed in each way. */
const INTERRUPTED: Command = { ...PUBLISH, kill: { at: 5, isDone: true } }
const EXAMPLES: Command[][] = [
  [
    INTERRUPTED,
    HIDE,
    { ...PUBLISH, kind: 'resume' },
    PUBLISH,
    { ...PUBLISH, kind: 'apply' },
    { ...HIDE, kind: 'reveal' },
  ],
  // The outcome of the first row is unknown, because the server didn't get its request.
  [
    { ...PUBLISH, kill: { at: 4, isDone: false } },
    HIDE,
    { ...PUBLISH, kind: 'resume' },
    PUBLISH,
    { ...PUBLISH, rows: [1] },
    { ...PUBLISH, kind: 'apply' },
  ],
  // Only committed.
  [{ ...HIDE, kill: { at: 1, isDone: true } }, PUBLISH, { ...PUBLISH, kind: 'pipe' }, { ...PUBLISH, isUnfit: true }],
  // By updates.
  [{ ...PUBLISH, isOld: true }, HIDE, { ...PUBLISH, kind: 'apply' }],
  [
    { ...PUBLISH, kind: 'pipe', isOld: true },
    { ...HIDE, isReordered: true },
    { ...PUBLISH, kind: 'apply piped' },
  ],
  [{ ...PUBLISH, isOld: true }, { ...PUBLISH, kind: 'save' }, HIDE, { ...PUBLISH, kind: 'apply saved' }],
  // In the collection that hides them, by another manifest, by updates, and with --again.
  [
    { ...HIDE, rows: [1, 2] },
    { ...PUBLISH, at: 1, file: 'b.csv', rows: [2, 3], isRenamed: true },
    { ...PUBLISH, at: 1, kind: 'pipe', rows: [1], isRenamed: true },
    { ...PUBLISH, at: 1, kind: 'apply', file: 'b.csv', rows: [1], isRenamed: true },
    { ...PUBLISH, at: 1, file: 'b.csv', rows: [1], isRenamed: true, flag: '--again' },
    { ...HIDE, kind: 'reveal', rows: [1, 2] },
  ],
  // A run with --again, to which hidden rows are added, and some of whose rows are hidden later.
  [
    { ...HIDE, rows: [1, 4] },
    { ...PUBLISH, rows: [1, 2, 3], flag: '--again', kill: { at: 4, isDone: true } },
    { ...HIDE, file: 'b.csv', rows: [3] },
    { ...PUBLISH, kind: 'resume', rows: [1, 2, 3] },
    { ...PUBLISH, flag: '--new-rows' },
    { ...PUBLISH, kind: 'apply', flag: '--new-rows' },
    { ...HIDE, kind: 'reveal', file: 'b.csv', rows: [3] },
    { ...PUBLISH, rows: [1, 2, 3] },
  ],
]

test('no order of mints, updates, kills and resumptions publishes a hidden row', async () => {
  await fc.assert(fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 7 }), live), {
    endOnFailure: true,
    numRuns: EXAMPLES.length + LIVES,
    examples: EXAMPLES.map((commands): [Command[]] => [commands]),
    interruptAfterTimeLimit: 3_000_000,
  })
  report(figures)
})
