import { GdnError } from '../core/errors.ts'
import { sleep } from '../core/time.ts'
import { type Asker, LISTING_LAG_MS, LOOK_GAP_MS, listIds } from '../operations/reconcile/listing.ts'
import { ownersOf } from '../operations/reconcile/owners.ts'
import { isGivenElsewhere, strangersOf } from '../state/known-nfts.ts'
import { MAX_NAMED, refuseTaken } from './claim.ts'
import type { Gathered } from './gather.ts'
import { knownReferences } from './known-references.ts'
import type { Adopted, KeptRow } from './manifest-row.ts'
import { type Plan, positionsOf } from './plan.ts'
import { type FoundRow, RowLookup } from './reconcile/lookup.ts'
import { ABSENT_BY_WORD } from './results.ts'
import { shownKey } from './row-key.ts'
import { DEFAULT_TIMEOUT_MS, interruption } from './run-context.ts'
import type { RunStore } from './run-store.ts'
import type { BatchEvent, BatchOptions, CheckDeps } from './types.ts'

/** What was found out before a run does anything. */
export interface Before {
  /** The ids that the collection has; null where they aren't known. */
  listed: Set<string> | null
  /** Rows that were minted already and are taken as they are. */
  adopted: Adopted[]
  notes: string[]
}

/**
 * Finds out before a run sends anything whether that may mint a row a second time: whether the collection holds rows of a
 * new run (its state was lost), rows that are to be sent again because they were absent, or rows that a resumed run would
 * send (its state is an older copy). Rows that a server knows by their reference IDs are adopted.
 *
 * @throws GdnError `already_accepted`, `seems_minted`
 */
export async function lookBefore(
  store: RunStore,
  options: BatchOptions,
  deps: CheckDeps,
  { gathered, plan }: { gathered: Gathered; plan: Plan },
): Promise<Before> {
  const { drop } = store
  const isNew = drop.setId === null
  const before: Before = { listed: null, adopted: [], notes: [] }
  const repeated = !isNew && options.retryAbsent === true ? await repeatedRows(store, gathered) : new Set<number>()
  const repeats = repeated.size > 0
  const looks = options.again !== true && options.skipLookup !== true
  const goesOn = !isNew && looks && options.reconcileOnly !== true && plan.rows > 0
  if (!(isNew || repeats || goesOn) || deps.client === null) return before

  const asker: Asker = { client: deps.client, signal: options.signal }
  before.listed = await listed(asker, options, looks, before.notes)
  // A state that lost what was sent has not lost what was there before; a new run has nothing of its own yet.
  const strangersIn = (ids: Iterable<string>) =>
    store.read((sql) => strangersOf(sql, drop.collectionId, isNew ? null : drop.listedAt, ids))
  // After the listing: what another machine has minted of these rows since then is no stranger.
  const mayBeKnown = looks && (before.listed === null || (await strangersIn(before.listed)).length > 0)
  const known = mayBeKnown ? ((await knownReferences(store, options, deps.client, { gathered, plan })) ?? []) : []
  before.adopted = known
  const adopted = new Set(known.map(({ nftGdnId }) => nftGdnId))
  const others = (ids: Iterable<string>) => new Set([...ids].filter((id) => !adopted.has(id)))
  if (before.listed !== null) before.listed = others(before.listed)
  if (before.listed === null || (isNew && !looks)) return before
  const strangers = (ids: Iterable<string>) => strangersIn(others(ids))
  const pending = new Set(positionsOf(plan))
  for (const { row } of known) pending.delete(row.position)
  const rows = (wanted: (row: KeptRow) => boolean) => () => only(store.rows(gathered.rows), wanted)
  const marker = drop.marker ?? undefined
  if (repeats) {
    const absent = new RowLookup(
      rows(({ position }) => repeated.has(position) && pending.has(position)),
      marker,
    )
    await lookUp(absent, asker, await strangers(before.listed), deps.onEvent)
    if (absent.hasMatches) throw await seemsMinted(absent.found(), drop.name, 'absent')
    if (!looks) return before
  }
  const open = isNew ? null : await openPositions(store, gathered, pending)
  const lookup = new RowLookup(
    open === null ? rows(({ position }) => pending.has(position)) : () => sentFirst(store, gathered, open),
    marker,
  )
  const look = async (ids: Iterable<string>) => await lookUp(lookup, asker, await strangers(ids), deps.onEvent)
  await look(before.listed)
  const settled = options.adopt === true ? others(await settleListing(options, deps, asker, look)) : null
  if (!lookup.hasMatches) return { ...before, listed: settled ?? before.listed }
  // A run that started meanwhile may have minted them. Then it is named, and nothing of it is adopted.
  await store.read((sql) => refuseTaken(sql, store, options, { ...gathered, pending }))
  const matches = () => unsent(store, lookup.found(), open)
  if (settled !== null) {
    // What is adopted is the run's own; all else was there before it.
    const found = await adopt(matches())
    for (const { nftGdnId } of found) settled.delete(nftGdnId)
    before.adopted = [...known, ...found]
    before.listed = settled
    return before
  }
  for await (const _match of matches()) {
    throw await seemsMinted(matches(), drop.name, isNew ? 'new' : 'forgotten')
  }
  return before
}

async function* only(rows: AsyncIterable<KeptRow>, wanted: (row: KeptRow) => boolean): AsyncGenerator<KeptRow> {
  for await (const row of rows) if (wanted(row)) yield row
}

/** Rows that an NFT may be of which the state does not have, by position, and whether each was sent before. */
async function openPositions(
  store: RunStore,
  { rows }: Gathered,
  pending: ReadonlySet<number>,
): Promise<Map<number, boolean>> {
  const open = new Map<number, boolean>()
  for await (const page of store.planned(rows)) {
    for (const { position, state } of page) {
      if (pending.has(position)) open.set(position, state !== null)
      else if (state === 'unknown' || state === 'absent' || state === 'sent') open.set(position, true)
    }
  }
  return open
}

/**
 * Yields the rows that were sent first. Only their number tells equal rows apart, and the outcomes of requests in the
 * state are resolved elsewhere.
 */
async function* sentFirst(
  store: RunStore,
  { rows }: Gathered,
  open: ReadonlyMap<number, boolean>,
): AsyncGenerator<KeptRow> {
  for (const wasSent of [true, false]) {
    yield* only(store.rows(rows), ({ position }) => open.get(position) === wasSent)
  }
}

/** Those of rows that the run never sent, without NFTs that were given meanwhile. */
async function* unsent(
  store: RunStore,
  found: AsyncIterable<FoundRow>,
  open: ReadonlyMap<number, boolean> | null,
): AsyncGenerator<FoundRow> {
  for await (const one of found) {
    if (open?.get(one.row.position) === true) continue
    if (!(await store.read((sql) => isGivenElsewhere(sql, one.match.id)))) yield one
  }
}

/** Returns the IDs of the collection. Adds a note and returns null where the server refuses to list them. */
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
  strangers: readonly string[],
  onEvent: ((event: BatchEvent) => void) | undefined,
): Promise<{ fresh: number; unread: number }> {
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

/** Rows with the NFTs that are theirs. @throws GdnError `seems_minted` where they belong to somebody else */
async function adopt(matches: AsyncIterable<FoundRow>): Promise<Adopted[]> {
  const adopted: Adopted[] = []
  const wrong: FoundRow[] = []
  for await (const found of matches) {
    const { row, match } = found
    if (match.owner !== null && !ownersOf(row.row).includes(match.owner)) wrong.push(found)
    else adopted.push({ row, nftGdnId: match.id })
  }
  if (wrong.length === 0) return adopted
  throw new GdnError(
    'seems_minted',
    `${wrong.length} rows can't be adopted: NFTs with their metadata belong to other wallets, to which they may have been moved`,
    {
      hint: 'nothing was sent. Look at these NFTs; then leave out of the manifest what was minted, and order the rest under another name with --run NAME --no-lookup',
      details: { rows: wrong.slice(0, MAX_NAMED).map(named), count: wrong.length },
    },
  )
}

const named = ({ row, match }: FoundRow) => ({
  key: shownKey(row.key),
  line: row.row.line,
  nft_gdn_id: match.id,
})

async function seemsMinted(
  matches: AsyncIterable<FoundRow>,
  run: string,
  which: 'new' | 'absent' | 'forgotten',
): Promise<GdnError> {
  const rows: ReturnType<typeof named>[] = []
  let count = 0
  for await (const found of matches) if (count++ < MAX_NAMED) rows.push(named(found))
  const many = count === 1 ? '1 row' : `${count} rows`
  if (which === 'forgotten') {
    const message = `${many} of the manifest seem to be in the collection already, and the state of ${run} does not have them`
    return new GdnError('seems_minted', message, {
      hint: [
        'Nothing was sent. The state directory may be an older copy, or another machine went on with the run: use the newest one.',
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
        hint: `nothing was sent. gdn batch reconcile ${run} finds out which they are`,
        details: { rows, count },
      })
}

/** Positions of rows that are to be sent again because they were absent; not those of which a person said so. */
async function repeatedRows(store: RunStore, { rows }: Gathered): Promise<Set<number>> {
  const keys = await store.read((sql) =>
    sql.all<{ identity: string }>(
      "SELECT identity FROM operations WHERE run_id = ? AND released_at IS NULL AND state = 'absent' AND reason <> ?",
      store.id,
      ABSENT_BY_WORD,
    ),
  )
  if (keys.length === 0) return new Set()
  const { scope } = store.drop
  const wanted = new Set(keys.map(({ identity }) => identity.slice(scope.length)))
  const positions = new Set<number>()
  for await (const { key, position } of store.rows(rows)) if (wanted.has(key)) positions.add(position)
  return positions
}
