import type { DrawnRows } from '../../reveal/shuffle/drawn-rows.ts'

/** The draw of a drop, as far as it is known. */
export interface Draw {
  /** The hash that seals the drop; null if the drop isn't sealed. */
  seal: string | null
  /** The round that draws the rows; null until the seal is final. */
  round: number | null
  /** The Unix time of the round in seconds. */
  roundAt: number | null
  /** Null until the round is published. */
  drawn: DrawnRows | null
}

export const NOT_DRAWN: Draw = { seal: null, round: null, roundAt: null, drawn: null }
