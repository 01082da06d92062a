import { GdnError } from '../core/errors.ts'

/** The publication times of a beacon's rounds. */
export interface RoundTimes {
  /** The time of round 1, in seconds since the epoch. */
  genesisTime: number
  /** The time between rounds, in seconds. */
  period: number
}

/** The hash and the publication times of drand's quicknet (https://api.drand.sh/<hash>/info). */
export const QUICKNET_TIMES = {
  hash: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  genesisTime: 1_692_803_367,
  period: 3,
} as const

/**
 * The rule of a shuffled drop. It is the first line of the drop's leaves file. The beacon is always drand's quicknet.
 */
export interface ShuffleRule {
  /** The minimum time between the block of the seal and the round that draws the rows, in seconds. */
  marginSeconds: number
}

const RULE_PREFIX = 'shuffle '
const RULE_LINE = /^shuffle drand-quicknet-v1 ([1-9][0-9]{0,6})$/
/** Maximum length of the line. An untrusted file could consist of a single line of several megabytes. */
const MAX_LINE_LENGTH = 64

const formatRule = (marginSeconds: number): string => `${RULE_PREFIX}drand-quicknet-v1 ${marginSeconds}`

/** Returns whether a rule can have this margin. */
export const isValidMargin = (seconds: number): boolean => RULE_LINE.test(formatRule(seconds))

/** Returns the first line of a shuffled drop's leaves file. */
export function formatRuleLine({ marginSeconds }: ShuffleRule): string {
  if (!isValidMargin(marginSeconds)) throw new Error(`${marginSeconds} is not a valid margin in seconds`)
  return `${formatRule(marginSeconds)}\n`
}

/**
 * Returns the rule in a leaves file; null if its rows aren't shuffled.
 *
 * @throws GdnError `verify_failed` if the first line begins like a rule but isn't a valid rule
 */
export function parseRule(leaves: Uint8Array): ShuffleRule | null {
  const start = Buffer.from(leaves.subarray(0, MAX_LINE_LENGTH)).toString('latin1')
  if (!start.startsWith(RULE_PREFIX)) return null
  const end = start.indexOf('\n')
  const margin = RULE_LINE.exec(end < 0 ? '' : start.slice(0, end))?.[1]
  if (margin !== undefined) return { marginSeconds: Number(margin) }
  throw new GdnError('verify_failed', 'the leaves file begins with a shuffle rule that this version does not support', {
    hint: 'Update gdn. If gdn is already up to date, the file is malformed.',
  })
}

/**
 * Returns the first round that is published at or after a time, in seconds since the epoch. Round 1 is published at the
 * genesis time.
 */
export const findRound = ({ genesisTime, period }: RoundTimes, seconds: number): number =>
  Math.max(1, Math.ceil((seconds - genesisTime) / period) + 1)

/** Formats seconds since the epoch in ISO 8601. */
export const formatIsoSeconds = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

/** Returns the time at which a round is published, in seconds since the epoch. */
export const computeRoundTime = ({ genesisTime, period }: RoundTimes, round: number): number =>
  genesisTime + (round - 1) * period
