import type { ShuffleRule } from '../../../api/shuffle-rule.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import type { CommittedRun } from '../../../reveal/unrevealed.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { formatPlanCommand, quoteRevealCommand } from '../options/format-flags.ts'

type ShuffleFlags = Pick<BatchMintFlags, 'shuffle' | 'shuffleMargin' | 'unrevealed'>

const DEFAULT_MARGIN_S = 30 * 60

/**
 * Checks the flags of a shuffled drop.
 *
 * @throws GdnError `usage` if a required flag is missing, or if the margin isn't a whole number of seconds
 */
export function checkShuffleFlags({ shuffle, shuffleMargin, unrevealed }: ShuffleFlags): void {
  if (shuffle === true && unrevealed === undefined) {
    throw flagError(
      '--shuffle',
      'requires --unrevealed',
      'Add --unrevealed <file>, so that gdn can draw the rows later.',
    )
  }
  if (shuffleMargin === undefined) return
  if (shuffle !== true) throw flagError('--shuffle-margin', 'requires --shuffle', 'Add --shuffle.')
  if (shuffleMargin % 1000 !== 0)
    throw flagError('--shuffle-margin', 'must be a whole number of seconds', 'Use a time such as 30m.')
}

/**
 * Returns the shuffle rule of a drop; null if its rows aren't shuffled. A run that has begun keeps its rule unless the
 * flags specify another one.
 */
export function resolveShuffleRule(
  { shuffle, shuffleMargin }: ShuffleFlags,
  keptRun: CommittedRun | undefined,
): ShuffleRule | null {
  const rule = keptRun?.commitment?.shuffle ?? null
  if (shuffle !== true || (rule !== null && shuffleMargin === undefined)) return rule
  return { marginSeconds: shuffleMargin === undefined ? DEFAULT_MARGIN_S : shuffleMargin / 1000 }
}

/** Returns the flags of a rule as part of a sentence. */
export const formatShuffleRule = (rule: ShuffleRule | null): string =>
  rule === null ? 'without --shuffle' : `with ${formatShuffleFlags(rule)}`

export const formatShuffleFlags = ({ marginSeconds }: ShuffleRule): string =>
  `--shuffle --shuffle-margin ${marginSeconds}s`

/** Returns the error for a run that is resumed with a different rule than the committed one. */
export const otherRuleError = (run: string, rule: ShuffleRule | null): GdnError =>
  new GdnError(
    'edited_rows',
    `the run ${run} committed to its rows ${formatShuffleRule(rule)}, and the shuffle flags can't be changed later`,
    {
      place: { flag: '--shuffle' },
      hint: 'Nothing was sent. To resume the run, omit --shuffle and --shuffle-margin.',
      details: { run, lines: [], removed: 0 },
    },
  )

const NOTHING_MINTED_TEXT = 'Nothing was minted.'

/**
 * Returns the error for rows that the collection has already committed to with a different rule, or without a rule.
 */
export const otherCommitmentError = (rule: ShuffleRule | null): GdnError =>
  new GdnError('refused', `the collection is committed to the rows of this manifest ${formatShuffleRule(rule)}`, {
    place: { flag: '--shuffle' },
    hint: `${NOTHING_MINTED_TEXT} To mint them, ${rule === null ? 'omit --shuffle' : 'use the same flags'}. To use other shuffle flags, use another manifest or collection.`,
  })

/** Returns the error for a mint that would mint the rows of a shuffled drop again. */
export const repeatedShuffleError = (place: '--again' | '--run'): GdnError =>
  new GdnError(
    'refused',
    place === '--again'
      ? 'the rows of a shuffled drop can be minted only once'
      : 'a run with another name has committed the collection to this shuffled drop',
    {
      place: { flag: place },
      hint:
        place === '--again'
          ? `${NOTHING_MINTED_TEXT} Of two NFTs with the same slot, only the first belongs to the drop. Omit the flag. To mint more rows, use another manifest.`
          : `${NOTHING_MINTED_TEXT} Of two NFTs with the same slot, only the first belongs to the drop. To resume the drop, use the name of that run.`,
    },
  )

/**
 * Returns the error for minting rows of a sealed drop.
 *
 * @param drop.isRevealed whether NFTs of the drop are revealed
 * @param drop.isWhole whether every row has an NFT
 */
export function sealedError(
  file: string | null,
  { isRevealed, isWhole = false }: { isRevealed: boolean; isWhole?: boolean },
  flags: BatchMintFlags,
): GdnError {
  const state = isRevealed ? 'sealed and revealed' : 'sealed'
  const rows = isWhole ? 'and all its rows are minted' : 'so its other rows can no longer be minted'
  const next = isRevealed
    ? `To compare the manifest with the NFTs, run ${formatPlanCommand(file, flags)}.`
    : `To reveal the NFTs, run ${quoteRevealCommand(file, flags)}.`
  return new GdnError('refused', `the drop is ${state}, ${rows}`, {
    place: { file: file ?? undefined },
    hint: `${NOTHING_MINTED_TEXT} ${next} To mint more rows, use another manifest.`,
  })
}
