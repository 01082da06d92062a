import type { BatchOptions } from '../types.ts'

/** The facts about a start that decide how gdn looks for rows that were minted before. */
export interface StartFacts extends Pick<BatchOptions, 'again' | 'skipLookup' | 'reconcileOnly'> {
  /** Whether the run has not begun. */
  isNew: boolean
  /** Whether the rows have the same reference IDs on every machine. */
  isSharedScope: boolean
  /** Rows to be sent. */
  pending: number
  /** Rows to be sent again because reconciling found them absent. A new run has none. */
  repeated: number
}

/** The ways in which gdn looks for rows that were minted before. */
export interface NeededLooks {
  /** Lists the collection. Without it, there is no other look. */
  listing: boolean
  /** Asks the server for the reference IDs of pending rows. */
  references: boolean
  /** Looks for the content of rows that were absent and are to be sent again. */
  absent: boolean
  /** Looks for the content of all pending rows. Where it is needed, the listing must not fail. */
  contents: boolean
}

const NONE: NeededLooks = { listing: false, references: false, absent: false, contents: false }

/**
 * Returns the looks that a start needs. A new run looks for all its rows. A resumed run does if it sends any, because
 * its state may be an older copy. `--again` and `--no-lookup` permit a second mint of the same content. Rows that are
 * repeated after they were absent are always looked for.
 */
export function neededLooks({
  again = false,
  skipLookup = false,
  reconcileOnly = false,
  isNew,
  isSharedScope,
  pending,
  repeated,
}: StartFacts): NeededLooks {
  const contents = !again && !skipLookup
  const absent = repeated > 0
  const sends = contents && !reconcileOnly && pending > 0
  if (!isNew && !absent && !sends) return NONE
  // With --again, another machine may have minted the first drop of this name.
  const references = contents || (!skipLookup && isSharedScope)
  return { listing: true, references, absent, contents }
}
