import type { ArtCheck } from '../../../art/check.ts'
import type { ExplainedDeviation } from '../../../art/edition-report.ts'
import { FITS, type Fit } from '../../../art/render/read-image.ts'
import { findSharedImages } from '../../../art/shared-images.ts'
import { type Art, type ArtIssue, DEFAULT_SEED, MAX_NFT_COUNT } from '../../../art/types.ts'
import { count as formatCount } from '../../../core/count.ts'
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts'
import { shellWord } from '../../../core/shell-word.ts'
import {
  checkImages,
  findArtWarnings,
  type ImagesCheck,
  imageWarnings,
  printArtWarnings,
} from '../../art/check-images.ts'
import { readArt } from '../../art/read-art.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, integer, notEmpty, type OutputFlags, oneOf } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'

/** Maximum number of deviations in text output. */
const MAX_LISTED_DEVIATIONS = 10

const VIEW: View = {
  fields: [
    ...['verdict', 'count', 'seed', 'combinations', 'combinations_exact', 'omitted_rules'],
    ...['largest_edition', 'upper_bound', 'images', 'reasons', 'deviations', 'warnings'],
  ],
  columns: ['verdict', 'count', 'combinations', 'largest_edition', 'upper_bound'],
  id: 'verdict',
  // The card shows only the number of deviations. The reasons, deviations and warnings are printed as sentences.
  card: ({ reasons: _reasons, deviations, omitted_rules: _rules, warnings: _warnings, ...record }) => [
    ...Object.entries(record),
    ['deviations', (deviations as readonly unknown[]).length],
  ],
}

export interface ArtCheckFlags extends OutputFlags {
  count?: number
  seed?: string
  strict?: boolean
  fit?: Fit
}

export function command(deps: Deps, run = check): GdnCommand {
  return new GdnCommand({
    about:
      'The command searches for an edition of distinct combinations that follows all rules and exact counts. The verdict is `possible` if the command finds such an edition, and `impossible` if it finds a proof that none exists. Otherwise, the verdict is `undecided`, and the exit code is 11. An edition is impossible if rules and counts contradict each other. The field `reasons` lists the contradictory rules and counts. If the count of a trait differs from its weight, the field `deviations` lists the trait. The exit code is 5 if the edition is impossible, or if there are deviations and --strict is set. The field `combinations` contains the number of combinations that the rules allow. If there are too many rules to count the combinations, the field contains an upper bound that ignores some of the rules. The field `largest_edition` contains the size of the largest edition that the search found. The field is null if the search was too short to determine the size. No edition can be larger than `upper_bound`. Like gdn art generate, the command also checks every image. The field `images` contains the number of images.',
    examples: [
      ['Check an edition of 9,000 NFTs', 'gdn art check art.yaml --count 9000'],
      ['Require trait counts that match the weights', 'gdn art check art.yaml --count 9000 --strict'],
      ['Print the deviations and reasons as JSON', 'gdn art check art.yaml --count 9000 -o json'],
    ],
  })
    .argument('<art.yaml>')
    .with(addEditionFlags)
    .switchFlag('--strict', 'Fail if trait counts differ from the weights')
    .with(addFitFlag, addOutputFlags)
    .action(async (path: string, flags: ArtCheckFlags) => await run(deps, path, flags))
}

/** Adds the flags that define an edition. */
export function addEditionFlags(command: GdnCommand): void {
  command.valueFlag('--count <n>', 'Number of NFTs, including one-of-ones', {
    parse: integer(1, MAX_NFT_COUNT),
    required: true,
  })
  command.valueFlag('--seed <text>', `Text that seeds the random choices (${DEFAULT_SEED})`, notEmpty)
}

/** Adds the flag for images whose size differs from the output. */
export function addFitFlag(command: GdnCommand): void {
  command.valueFlag(
    '--fit <how>',
    `How to scale images whose size differs from the output: ${FITS.join(', ')}`,
    oneOf(FITS),
  )
}

export async function check(deps: Deps, path: string, flags: ArtCheckFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const { count, seed = DEFAULT_SEED } = flags
  if (count === undefined) throw requiredFlagError('--count', 'Add --count <n>, the number of NFTs.')
  const art = await readArt(deps, path)
  const [{ checkArt }, { explainDeviations }] = await Promise.all([
    import('../../../art/check.ts'),
    import('../../../art/edition-report.ts'),
  ])
  const artCheck = checkArt(art, { count, seed })
  const images = await checkImages(deps, art, flags.fit ?? null)
  const exitCode = toExitCode(artCheck, flags.strict === true)
  const deviations = explainDeviations(art, count - art.oneOfOnes.length, artCheck.deviations)
  const ofArt = await findArtWarnings(deps, art, count)
  const ofImages = imageWarnings(images, { mayThrow: exitCode === EXIT.ok, io, others: ofArt })
  printArtWarnings(io, ofImages)
  const ofTraits = findSharedImages(art, images.hashes)
  const warnings = [...ofImages, ...ofTraits, ...ofArt]
  const record = checkRecord(art, artCheck, { seed, images, deviations, warnings })
  const isText = output.mode === 'table' && flags.fields === undefined
  // In text output, the reasons and warnings are sentences on stderr.
  await output.one(isText ? { ...record, reasons: undefined, warnings: undefined } : record)
  for (const { text } of artCheck.reasons) io.note(safe(text))
  for (const { text } of deviations.slice(0, MAX_LISTED_DEVIATIONS)) io.note(safe(text))
  if (artCheck.deviations.length > MAX_LISTED_DEVIATIONS)
    io.note(`… and ${artCheck.deviations.length - MAX_LISTED_DEVIATIONS} more. Add \`-o json\` to list all of them.`)
  io.note(formatConclusion(artCheck, { path, isStrict: flags.strict === true }))
  for (const kind of [ofTraits, ofArt]) printArtWarnings(io, kind)
  deps.setExitCode(exitCode)
}

interface CheckOutcome {
  seed: string
  images: ImagesCheck
  deviations: readonly ExplainedDeviation[]
  warnings: readonly ArtIssue[]
}

function checkRecord({ layers }: Art, artCheck: ArtCheck, { seed, images, deviations, warnings }: CheckOutcome) {
  return {
    verdict: artCheck.verdict,
    count: artCheck.count,
    seed,
    combinations: String(artCheck.combinations),
    combinations_exact: artCheck.omittedRules.length === 0,
    omitted_rules: artCheck.omittedRules.map((line) => ({ line })),
    largest_edition: artCheck.largest,
    upper_bound: String(artCheck.upperBound),
    images: images.checked,
    reasons: artCheck.reasons,
    deviations: deviations.map(({ deviation: { layer, trait, wanted, made }, reason }) => ({
      layer: layers[layer]?.name ?? '',
      trait: layers[layer]?.traits[trait]?.name ?? null,
      wanted,
      made,
      line: layers[layer]?.traits[trait]?.place.line ?? layers[layer]?.place.line ?? null,
      reason,
    })),
    warnings,
  }
}

function toExitCode({ verdict, deviations }: ArtCheck, isStrict: boolean): ExitCode {
  if (verdict === 'undecided') return EXIT.undecided
  return verdict === 'impossible' || (isStrict && deviations.length > 0) ? EXIT.refused : EXIT.ok
}

function formatConclusion(artCheck: ArtCheck, { path, isStrict }: { path: string; isStrict: boolean }): string {
  const { verdict, count, largest, deviations } = artCheck
  if (verdict === 'possible') {
    if (deviations.length === 0)
      return `${formatCount(count, 'NFT')}: possible, and all trait counts match their weights.`
    const deviating =
      deviations.length === 1
        ? 'the count of 1 trait differs from its weight'
        : `the counts of ${formatCount(deviations.length, 'trait')} differ from their weights`
    return `${formatCount(count, 'NFT')}: possible, but ${deviating}.${isStrict ? ' --strict rejects this edition.' : ''}`
  }
  const smaller = largest === null ? '' : ` Try: gdn art check ${shellWord(safe(path))} --count ${largest}`
  return verdict === 'impossible'
    ? `${formatCount(count, 'NFT')}: impossible, for the reasons above.${smaller}`
    : `${formatCount(count, 'NFT')}: undecided. The search may find an edition with another --seed.${smaller}`
}
