import { formatIsoSeconds } from '../api/shuffle-rule.ts'
import type { RowCounts } from '../batch/types.ts'
import { isRecord } from '../core/json.ts'

type StoredOptions = Readonly<Record<string, unknown>>

/** The seal of a shuffled drop, as a run stores it. */
export interface StoredSeal {
  /** The round that draws the rows; null until the seal is final. */
  round: number | null
  /** The Unix time of the round in seconds. */
  roundAt: number | null
  /** Whether the round belongs to a beacon that the user specified. */
  isNamed: boolean
}

/** The state of a shuffled drop: not sealed, sealed and waiting for its round, or drawn. */
export type DropState =
  | { phase: 'open'; seal: null }
  | { phase: 'sealed'; seal: StoredSeal }
  | { phase: 'drawn'; seal: StoredSeal | null }

/** The slots of a sealed drop that has no revealed NFT. */
export interface SealedSlots {
  slots: number
  state: DropState
}

/** Returns whether the rows of a run are drawn after the mint, so that the run can be minted only once. */
export const isShuffled = ({ reading }: { reading: StoredOptions }): boolean => isRecord(reading.shuffle)

/** Returns the state of a run's shuffled drop according to the local state; null for other runs. */
export function readDropState({ reading }: { reading: StoredOptions }): DropState | null {
  if (!isShuffled({ reading })) return null
  const seal = isRecord(reading.seal) ? sealIn(reading.seal) : null
  if (isRecord(reading.draw)) return { phase: 'drawn', seal }
  return seal === null ? { phase: 'open', seal } : { phase: 'sealed', seal }
}

function sealIn({ round, roundAt, isNamed }: Record<string, unknown>): StoredSeal {
  const isKnown = typeof round === 'number' && typeof roundAt === 'number'
  const times = isKnown ? { round, roundAt } : { round: null, roundAt: null }
  return { ...times, isNamed: isNamed === true }
}

/** Describes the state of a drop, without a full stop. */
export function describeDropState(state: DropState, now: number): string {
  if (state.phase === 'open') return 'The drop is not sealed yet'
  if (state.phase === 'drawn')
    return `The drop is sealed, and its rows have been drawn${state.seal?.isNamed === true ? ' by a beacon other than drand, as a rehearsal' : ''}`
  const { round, roundAt, isNamed } = state.seal
  if (round === null || roundAt === null) return 'The drop is sealed, and its rows have not been drawn yet'
  // With a beacon file, gdn can sign a round before its scheduled time, so the description omits the time.
  if (isNamed) return `The drop is sealed, and round ${round} of the beacon that you specified draws its rows`
  const at = formatIsoSeconds(roundAt)
  return roundAt * 1000 > now
    ? `The drop is sealed, and round ${round} of drand draws its rows at ${at}`
    : `The drop is sealed, and round ${round} of drand, which draws its rows, was due at ${at}`
}

/**
 * Returns the counts of a run's rows. The rows of a sealed drop that have no NFT are abandoned, because they can no
 * longer be minted.
 */
export function withAbandoned(counts: RowCounts, state: DropState | null): RowCounts & { abandoned: number } {
  if (state === null || state.phase === 'open') return { ...counts, abandoned: 0 }
  return { ...counts, pending: 0, failed: 0, abandoned: counts.pending + counts.failed }
}

/** Returns whether a row of a run is abandoned, based on its status. */
export const isAbandoned = (status: string, state: DropState | null): boolean =>
  state !== null && state.phase !== 'open' && (status === 'pending' || status === 'failed')

/** Describes a sealed drop and its rows: `The drop is sealed, …: 2 of 4 rows are minted, 2 abandoned.` */
export function describeSealedDrop(state: DropState, counts: RowCounts, now: number): string {
  const { deployed, total, abandoned } = withAbandoned(counts, state)
  const abandonedText = abandoned === 0 ? '' : `, ${abandoned} abandoned`
  return `${describeDropState(state, now)}: ${deployed} of ${total} rows are minted${abandonedText}.`
}
