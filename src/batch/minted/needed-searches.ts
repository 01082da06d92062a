import type { BatchOptions } from '../types.ts'

/** The facts about a run that determine where gdn searches for rows that were minted before. */
export interface StartFacts extends Pick<BatchOptions, 'again' | 'lookup'> {
  /** Whether the run has not begun. */
  isNew: boolean
  /** Whether the rows have the same reference IDs on every machine. */
  isSharedScope: boolean
  /** Number of rows that may be sent. */
  pending: number
  /** Number of rows to be sent again because reconciling found them absent. 0 for a new run. */
  repeated: number
}

/** Where gdn searches for rows that were minted before. */
export interface NeededSearches {
  /** Whether to list the collection. If false, there is no other search. */
  listing: boolean
  /** Whether to request the reference IDs of pending rows from the server. */
  references: boolean
  /** Whether to search for the content of absent rows that would be sent again. */
  absent: boolean
  /**
   * Whether to search for the content of all pending rows. If set, a failed listing stops the run, unless the server
   * refuses to list.
   */
  contents: boolean
}

const NONE: NeededSearches = { listing: false, references: false, absent: false, contents: false }

/**
 * Returns the searches that a run needs before it starts. A new run searches for all its rows. A resumed run also does
 * so before it sends any row, because its state may be an older copy. `--again` and `--no-lookup` permit a second mint
 * of the same content. gdn always searches for absent rows that are sent again.
 */
export function neededSearches({
  again = false,
  lookup = true,
  isNew,
  isSharedScope,
  pending,
  repeated,
}: StartFacts): NeededSearches {
  const contents = !again && lookup
  const absent = repeated > 0
  const sends = contents && pending > 0
  if (!isNew && !absent && !sends) return NONE
  // With --again, another machine may have minted the first drop with this name.
  const references = contents || (lookup && isSharedScope)
  return { listing: true, references, absent, contents }
}
