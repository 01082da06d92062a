import { GdnError } from '../core/errors.ts'
import { sleep } from '../core/time.ts'
import { type Asker, LISTING_LAG_MS, LOOK_GAP_MS, listIds } from '../operations/reconcile/listing.ts'
import { ownersOf } from '../operations/reconcile/owners.ts'
import { MAX_NAMED, readOtherRuns } from './claim.ts'
import type { Found } from './find-run.ts'
import { RecordFile } from './journal/read.ts'
import type { FoundRecord, RunRecord } from './journal/records.ts'
import type { Ledger } from './ledger.ts'
import { repeatedRows } from './reconcile/copies.ts'
import type { IdSet } from './reconcile/id-set.ts'
import { readBaseline } from './reconcile/known-ids.ts'
import { type FoundRow, RowLookup } from './reconcile/lookup.ts'
import { shownKey } from './row-key.ts'
import { ROW } from './row-table.ts'
import { DEFAULT_TIMEOUT_MS, interruption } from './run-context.ts'
import { baselinePath, journalPath } from './run-files.ts'
import { readSpool, type SpooledRow } from './spool.ts'
import type { BatchEvent, BatchOptions, CheckDeps } from './types.ts'

/** What was found out before a run does anything. */
export interface Before {
  /** The ids that the collection has; null where they aren't known. */
  listed: Set<string> | null
  /** Rows that were minted already and are taken as they are. */
  adopted: FoundRecord[]
  /** Ids that other runs and commands were given. */
  given: IdSet
  notes: string[]
}

const FOUND_PER_RECORD = 50

/**
 * Finds out before a run sends anything whether that may mint a row a second time: whether another run has its key
 * already, and whether the collection holds rows of a new run (a journal was lost), rows that are to be sent again
 * because they were absent, or rows that a resumed run would send (its journal is an older copy).
 *
 * @param path where the rows of the manifest are
 * @throws GdnError `already_accepted`, `seems_minted`
 */
export async function lookBefore(options: BatchOptions, deps: CheckDeps, found: Found, path: string): Promise<Before> {
  const { run, ledger, journal } = found
  const isNew = journal === null
  const rows = () => readSpool(path)
  const others = await readOtherRuns(options, deps, found, path)
  const before: Before = { listed: null, adopted: [], given: others.ids, notes: [] }
  if (others.unreadable !== null) {
    before.notes.push(`The journal ${others.unreadable} can't be read: rows of its run are not recognized`)
  }
  const repeated = !isNew && options.retryAbsent === true ? await repeatedOf(options.stateDir, run, ledger) : null
  const repeats = repeated !== null && repeated.size > 0
  const looks = options.again !== true && options.skipLookup !== true
  const goesOn = !isNew && looks && options.reconcileOnly !== true && ledger.rows.count(ROW.pending) > 0
  if (!(isNew || repeats || goesOn) || deps.client === null) return before

  const asker: Asker = { client: deps.client, signal: options.signal }
  const baseline = isNew ? null : await readBaseline(baselinePath(options.stateDir, run.id))
  if (!isNew && !repeats && baseline === null) return before
  before.listed = await listed(asker, options, looks, before.notes)
  if (before.listed === null || (isNew && !looks)) return before
  const isStranger = (id: string) => !others.ids.has(id) && !ledger.ids.has(id) && !(baseline?.has(id) ?? false)
  if (repeats) {
    const absent = new RowLookup(() => only(rows(), ledger, repeated), run.marker)
    await lookUp(absent, asker, before.listed, isStranger, deps.onEvent)
    if (absent.hasMatches) throw await seemsMinted(absent.found(), run, 'absent')
    if (baseline === null) return before
  }
  const lookup = new RowLookup(isNew ? rows : () => sentFirst(rows, ledger), run.marker)
  const look = (ids: Iterable<string>) => lookUp(lookup, asker, ids, isStranger, deps.onEvent)
  await look(before.listed)
  const settled = options.adopt === true ? await settleListing(options, deps, asker, look) : null
  if (!lookup.hasMatches) return { ...before, listed: settled ?? before.listed }
  // A run that started meanwhile may have minted them. Then it is named, and nothing of it is adopted.
  const { ids: given } = await readOtherRuns(options, deps, found, path)
  const matches = () => unsent(lookup.found(), ledger, given)
  if (settled !== null) {
    // What is adopted is the run's own; all else was there before it.
    before.adopted = await adopt(matches(), ledger.lastRequest)
    for (const { ids: own } of before.adopted) for (const id of own) settled.delete(id)
    before.listed = settled
    return before
  }
  for await (const _match of matches()) throw await seemsMinted(matches(), run, isNew ? 'new' : 'forgotten')
  return before
}

const MAY_HAVE_NFT: ReadonlySet<number> = new Set([ROW.unknown, ROW.absent, ROW.pending])

/**
 * The rows that an NFT may be of which the journal does not have. Those that were sent go first: equal rows are told
 * apart by their number alone, and the outcome of a request in the journal is resolved elsewhere.
 */
async function* sentFirst(rows: () => AsyncIterable<SpooledRow>, ledger: Ledger): AsyncGenerator<SpooledRow> {
  for (const wasSent of [true, false]) {
    for await (const row of rows()) {
      const number = ledger.rows.find(row.key)
      if (MAY_HAVE_NFT.has(ledger.state(number)) && (ledger.sentBy(number) !== null) === wasSent) yield row
    }
  }
}

/** Those of rows that the journal never sent, without NFTs of other runs. */
async function* unsent(found: AsyncIterable<FoundRow>, ledger: Ledger, given: IdSet): AsyncGenerator<FoundRow> {
  for await (const one of found) {
    if (ledger.sentBy(ledger.rows.find(one.row.key)) === null && !given.has(one.match.id)) yield one
  }
}

/** The ids of the collection; null where the server doesn't tell them, which is noted. */
async function listed(
  asker: Asker,
  options: BatchOptions,
  isNeeded: boolean,
  notes: string[],
): Promise<Set<string> | null> {
  try {
    const ids = await listIds(asker, options)
    if (ids === null) throw interruption(options.signal?.reason)
    return ids
  } catch (error) {
    if (!(error instanceof GdnError) || error.code === 'interrupted' || error.code === 'terminated') throw error
    if (isNeeded && error.code !== 'refused' && error.code !== 'forbidden') {
      throw new GdnError(error.code, `can't see what the collection holds: ${error.message}`, {
        hint: `nothing was sent${error.hint === undefined ? '' : `; ${error.hint}`}. To go on without looking, add --no-lookup`,
        cause: error,
      })
    }
    notes.push(`The collection can't be looked into (${error.message}): whether rows were minted before isn't known`)
    return null
  }
}

async function lookUp(
  lookup: RowLookup,
  asker: Asker,
  ids: Iterable<string>,
  isStranger: (id: string) => boolean,
  onEvent: ((event: BatchEvent) => void) | undefined,
): Promise<{ fresh: number; unread: number }> {
  const strangers = [...ids].filter(isStranger)
  const read = await lookup.read(asker, strangers, (done, total) => onEvent?.({ type: 'looking_up', done, total }))
  if (read === null) throw interruption(asker.signal?.reason)
  return read
}

/** Looks until two looks in a row, after a time, found nothing new: a row that isn't listed yet would be sent again. */
async function settleListing(
  options: BatchOptions,
  { now = () => performance.now(), sleep: pause = sleep, onEvent }: CheckDeps,
  asker: Asker,
  look: (ids: Iterable<string>) => Promise<{ fresh: number; unread: number }>,
): Promise<Set<string>> {
  const began = now()
  const deadline = began + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  for (let wait = options.listingWaitMs ?? LISTING_LAG_MS, looks = 0; ; wait = LOOK_GAP_MS) {
    if (now() + wait > deadline) {
      throw new GdnError('seems_minted', "the collection's listing could not be relied on before the time was up", {
        hint: 'nothing was sent. Try again with a longer --timeout',
      })
    }
    onEvent?.({ type: 'reconciling', phase: 'waiting', ms: wait, done: 0, total: 0 })
    try {
      await pause(wait, options.signal)
    } catch (error) {
      throw options.signal?.aborted === true ? interruption(options.signal.reason) : error
    }
    const ids = await listIds(asker, options)
    if (ids === null) throw interruption(options.signal?.reason)
    const { fresh, unread } = await look(ids)
    looks = fresh === 0 && unread === 0 ? looks + 1 : 0
    if (looks === 2) return ids
  }
}

/** Requests for the journal that say what was minted and is not in it. Their numbers follow its last one. */
async function adopt(matches: AsyncIterable<FoundRow>, lastRequest: number): Promise<FoundRecord[]> {
  const records: FoundRecord[] = []
  const byReceiver = new Map<string, FoundRecord>()
  const wrong: FoundRow[] = []
  for await (const found of matches) {
    const { row, match } = found
    if (match.owner !== null && !ownersOf(row.row).includes(match.owner)) {
      wrong.push(found)
      continue
    }
    const { receiver } = row.row
    let record = byReceiver.get(receiver)
    if (record === undefined || record.rows.length === FOUND_PER_RECORD) {
      record = { t: 'found', n: lastRequest + records.length + 1, receiver, rows: [], ids: [], at: Date.now() }
      byReceiver.set(receiver, record)
      records.push(record)
    }
    record.rows.push([row.key, row.row.line, row.content])
    record.ids.push(match.id)
  }
  if (wrong.length === 0) return records
  throw new GdnError(
    'seems_minted',
    `${wrong.length} rows can't be adopted: NFTs with their metadata belong to other wallets, to which they may have been moved`,
    {
      hint: 'nothing was sent. Look at these NFTs; then leave out of the manifest what was minted, and order the rest under another name with --run NAME --no-lookup',
      details: { rows: wrong.slice(0, MAX_NAMED).map(named), count: wrong.length },
    },
  )
}

const named = ({ row, match }: FoundRow) => ({ key: shownKey(row.key), line: row.row.line, nft_gdn_id: match.id })

async function seemsMinted(
  matches: AsyncIterable<FoundRow>,
  run: RunRecord,
  which: 'new' | 'absent' | 'forgotten',
): Promise<GdnError> {
  const rows: ReturnType<typeof named>[] = []
  let count = 0
  for await (const found of matches) if (count++ < MAX_NAMED) rows.push(named(found))
  const many = count === 1 ? '1 row' : `${count} rows`
  if (which === 'forgotten') {
    const message = `${many} of the manifest seem to be in the collection already, and the journal of ${run.name} does not have them`
    return new GdnError('seems_minted', message, {
      hint: [
        'Nothing was sent. The journal may be an older copy, or another machine went on with the run: use the newest one.',
        'To take these rows as minted and send the others, run gdn batch mint <manifest> --adopt.',
        'To send all of them nevertheless, run gdn batch mint <manifest> --no-lookup.',
      ].join('\n'),
      details: { rows, count },
    })
  }
  return which === 'new'
    ? new GdnError('seems_minted', `${many} of the manifest seem to be in the collection already`, {
        hint: 'nothing was sent, and no run was begun that could be resumed or reconciled\ntake them as minted, and send the others: the same command with --adopt\norder all rows nevertheless: the same command with --again',
        details: { rows, count },
      })
    : new GdnError('seems_minted', `${many} that had been absent turned up in the collection`, {
        hint: `nothing was sent. gdn batch reconcile ${run.name} finds out which they are`,
        details: { rows, count },
      })
}

async function repeatedOf(stateDir: string, run: RunRecord, ledger: Ledger): Promise<Set<number>> {
  const records = await RecordFile.open(journalPath(stateDir, run.id))
  try {
    return await repeatedRows(ledger, records)
  } finally {
    await records.close()
  }
}

async function* only(rows: AsyncIterable<SpooledRow>, ledger: Ledger, wanted: ReadonlySet<number>) {
  for await (const row of rows) if (wanted.has(ledger.rows.find(row.key))) yield row
}
