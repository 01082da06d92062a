import { GdnError, isInterruption } from '../../core/errors.ts'
import { sleep } from '../../core/time.ts'
import { DEFAULT_WAIT_MS } from '../../operations/defaults.ts'
import { LISTING_LAG_MS, listIds, type RecordSource, SEARCH_GAP_MS } from '../../operations/reconcile/listing.ts'
import type { BatchOptions, CheckDeps } from '../types.ts'
import type { SearchCounts } from './lookup.ts'

/** The properties of a run that determine where gdn searches for rows that were already minted. */
export interface SearchConditions extends Pick<BatchOptions, 'again' | 'lookup'> {
  /** Whether the run has not begun yet. */
  isNew: boolean
  /** Whether the rows have the same reference IDs on every machine. */
  isSharedScope: boolean
  /** Number of rows that may be sent. */
  pendingCount: number
  /** Number of rows to be sent again because reconciling found them absent. 0 for a new run. */
  repeatedCount: number
}

/** The places where gdn searches for rows that were already minted. */
export interface NeededSearches {
  /** Whether to list the collection. If false, no other search is made. */
  listing: boolean
  /** Whether to request the reference IDs of pending rows from the server. */
  references: boolean
  /** Whether to search for the content of absent rows that would be sent again. */
  absent: boolean
  /**
   * Whether to search for the content of all pending rows. If set, the run stops if the listing fails, unless the
   * server refuses to list.
   */
  contents: boolean
}

const NO_SEARCHES: NeededSearches = { listing: false, references: false, absent: false, contents: false }

/**
 * Returns the searches that a run needs before it starts. A new run searches for all its rows. A resumed run also
 * searches for them before it sends any row, because its state may be an older copy. `--again` and `--no-lookup` permit
 * a second mint of the same content. gdn always searches for absent rows that are sent again.
 */
export function neededSearches({
  again: isRepeat = false,
  lookup = true,
  isNew,
  isSharedScope,
  pendingCount,
  repeatedCount,
}: SearchConditions): NeededSearches {
  const contents = !isRepeat && lookup
  const absent = repeatedCount > 0
  const sends = contents && pendingCount > 0
  if (!isNew && !absent && !sends) return NO_SEARCHES
  // With --again, another machine may have minted the first drop with this name.
  const references = contents || (lookup && isSharedScope)
  return { listing: true, references, absent, contents }
}

/**
 * Returns the IDs of the NFTs in the collection. If the server refuses to list them, or if an optional listing fails,
 * adds a note and returns null.
 */
export async function listCollection(
  source: RecordSource,
  options: BatchOptions,
  isNeeded: boolean,
  notes: string[],
): Promise<Set<string> | null> {
  try {
    return await listIds(source, options)
  } catch (error) {
    if (!(error instanceof GdnError) || isInterruption(error)) throw error
    if (isNeeded && error.code !== 'refused' && error.code !== 'forbidden') {
      throw error.with({
        message: `can't list the NFTs of the collection: ${error.message}`,
        hint: `Nothing was sent.${error.hint === undefined ? '' : ` ${error.hint}`} To skip this check, run \`gdn batch mint\` with --no-lookup.`,
      })
    }
    notes.push(
      `The NFTs of the collection can't be listed (${error.message}), so gdn can't check whether rows were already minted`,
    )
    return null
  }
}

/**
 * Repeats the search while listed NFTs have no record or no metadata, because any of them may belong to a row. Stops
 * after the maximum lag of a listing.
 */
export async function waitUntilComplete(
  { listingWait = LISTING_LAG_MS, signal }: BatchOptions,
  { sleep: pause = sleep, onEvent }: CheckDeps,
  { unread, incomplete }: SearchCounts,
  search: () => Promise<SearchCounts>,
): Promise<void> {
  let missing = unread + incomplete
  for (let remainingMs = listingWait; missing > 0 && remainingMs > 0; remainingMs -= SEARCH_GAP_MS) {
    onEvent?.({ type: 'reconciling', phase: 'waiting', ms: remainingMs, done: 0, total: 0 })
    await pause(Math.min(SEARCH_GAP_MS, remainingMs), signal)
    const counts = await search()
    missing = counts.unread + counts.incomplete
  }
}

/**
 * Lists the collection until two consecutive listings, some time apart, find nothing new. Otherwise, a row whose NFT
 * isn't listed yet would be sent again.
 */
export async function waitForSettledListing(
  options: BatchOptions,
  { now = () => performance.now(), sleep: pause = sleep, onEvent }: CheckDeps,
  source: RecordSource,
  search: (ids: Iterable<string>) => Promise<SearchCounts>,
): Promise<Set<string>> {
  const began = now()
  const deadline = began + (options.timeout ?? DEFAULT_WAIT_MS)
  for (let wait = options.listingWait ?? LISTING_LAG_MS, emptySearches = 0; ; wait = SEARCH_GAP_MS) {
    if (now() + wait > deadline) {
      throw new GdnError('seems_minted', "the server's list of NFTs was still out of date when the timeout expired", {
        hint: 'Nothing was sent. Try again with a longer --timeout.',
      })
    }
    onEvent?.({ type: 'reconciling', phase: 'waiting', ms: wait, done: 0, total: 0 })
    await pause(wait, options.signal)
    const ids = await listIds(source, options)
    const { fresh, unread } = await search(ids)
    emptySearches = fresh === 0 && unread === 0 ? emptySearches + 1 : 0
    if (emptySearches === 2) return ids
  }
}
