import { count } from '../../core/count.ts'
import { flagError } from '../../core/errors.ts'
import type { RevealPlan } from '../../reveal/plan-reveal.ts'
import type { DrawnRows } from '../../reveal/shuffle/drawn-rows.ts'

/** The known facts about a drop's draw. */
export interface Draw {
  /** The hash that seals the drop; null if the drop isn't sealed. */
  seal: string | null
  /** The round that draws the rows; null until the seal is final. */
  round: number | null
  /** The time of the round, in seconds since the epoch. */
  roundAt: number | null
  /** Whether the user named the beacon. */
  isNamed: boolean
  /** The drawn rows; null until the round is published. */
  drawn: DrawnRows | null
}

export const UNDRAWN_STATE: Draw = { seal: null, round: null, roundAt: null, isNamed: false, drawn: null }

/** @throws GdnError `usage` if the number in `--abandon-rows` isn't the number of rows without an NFT */
export function checkAbandonedRows({ notMinted, undeployed }: RevealPlan, abandonRows: number | undefined): void {
  const missing = notMinted - undeployed
  if (abandonRows === undefined || abandonRows === missing) return
  const finding =
    missing === 0 ? 'every row is minted' : `${count(missing, 'row')} ${missing === 1 ? 'is' : 'are'} not minted`
  const hint = 'Nothing was sent. Check the rows first.'
  throw flagError('--abandon-rows', `${finding}, so the number can't be ${abandonRows}`, hint)
}
