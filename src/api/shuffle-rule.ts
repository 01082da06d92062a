import { GdnError } from '../core/errors.ts'

/** The times at which the rounds of a beacon are published. */
export interface RoundTimes {
  /** The Unix time of round 1 in seconds. */
  genesisTime: number
  /** The seconds between rounds. */
  period: number
}

/** The hash and the times of drand's quicknet (https://api.drand.sh/<hash>/info). */
export const QUICKNET_TIMES = {
  hash: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  genesisTime: 1_692_803_367,
  period: 3,
} as const

/** The rule of a shuffled drop, which is the first line of its leaves file. The beacon is always drand's quicknet. */
export interface ShuffleRule {
  /** The seconds between the block of the seal and the round that draws the rows. */
  marginSeconds: number
}

const BEGINNING = 'shuffle '
const LINE = /^shuffle drand-quicknet-v1 ([1-9][0-9]{0,6})$/
/** Maximum length of the line. A hostile file could consist of one line of megabytes. */
const MAX_LINE = 64

const lineOf = (marginSeconds: number): string => `${BEGINNING}drand-quicknet-v1 ${marginSeconds}`

/** Returns whether a rule can have a margin. */
export const isMargin = (seconds: number): boolean => LINE.test(lineOf(seconds))

/** Returns the first line of the leaves file of a shuffled drop. */
export function ruleLine({ marginSeconds }: ShuffleRule): string {
  if (!isMargin(marginSeconds)) throw new Error(`${marginSeconds} is not a margin in seconds`)
  return `${lineOf(marginSeconds)}\n`
}

/**
 * Returns the rule of a leaves file; null if its rows aren't shuffled.
 *
 * @throws GdnError `verify_failed` if the first line begins like a rule but isn't one
 */
export function ruleIn(leaves: Uint8Array): ShuffleRule | null {
  const start = Buffer.from(leaves.subarray(0, MAX_LINE)).toString('latin1')
  if (!start.startsWith(BEGINNING)) return null
  const end = start.indexOf('\n')
  const margin = LINE.exec(end < 0 ? '' : start.slice(0, end))?.[1]
  if (margin !== undefined) return { marginSeconds: Number(margin) }
  throw new GdnError('verify_failed', 'the leaves file begins with a shuffle rule that this version does not know', {
    hint: 'Update gdn. If this is the newest version, the file is malformed.',
  })
}

/** Returns the first round whose time is at least a Unix time in seconds. Round 1 is at the genesis of the chain. */
export const roundFor = ({ genesisTime, period }: RoundTimes, seconds: number): number =>
  Math.max(1, Math.ceil((seconds - genesisTime) / period) + 1)

/** Returns a Unix time in seconds as an ISO 8601 text. */
export const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

/** Returns the Unix time in seconds at which a round is published. */
export const timeOfRound = ({ genesisTime, period }: RoundTimes, round: number): number =>
  genesisTime + (round - 1) * period
