import { GdnError } from '../core/errors.ts'
import { sleep } from '../core/time.ts'
import { DEFAULT_TIMEOUT_MS } from '../operations/defaults.ts'
import { type Asker, LISTING_LAG_MS, LOOK_GAP_MS, listIds } from '../operations/reconcile/listing.ts'
import { ownersOf } from '../operations/reconcile/owners.ts'
import { givenNfts, unrecordedNfts } from '../state/known-nfts.ts'
import { absentKeys } from '../state/row-outcomes.ts'
import { plannedPages } from '../state/rows.ts'
import { addsUnnamed, hasUnnamed } from '../state/unnamed-rows.ts'
import { MAX_NAMED, refuseTaken } from './claim.ts'
import type { Gathered } from './gather.ts'
import { knownReferences } from './known-references.ts'
import type { Adopted, KeptRow } from './manifest-row.ts'
import { noteOfUnnamed, notesOfRenamed } from './moved-run.ts'
import { type OtherLabel, otherLabels, shownLabels } from './other-labels.ts'
import { type Pair, pairsOfOthers } from './pairing.ts'
import { type Plan, positionsOf } from './plan.ts'
import { type FoundRow, RowLookup } from './reconcile/lookup.ts'
import { readOthers } from './reconcile/others.ts'
import { MARKED_ABSENT } from './results.ts'
import { isSharedScope, shownKey } from './row-key.ts'
import { interruption } from './run-context.ts'
import type { RunStore } from './run-store.ts'
import type { BatchEvent, BatchOptions, CheckDeps } from './types.ts'

/** What is known before a run does anything. */
export interface EarlierMints {
  /** The IDs that the collection has; null where they aren't known. */
  listed: Set<string> | null
  /** Rows that were minted already and are adopted. */
  adopted: Adopted[]
  /** The rows whose label on the server is replaced. */
  relabeled: OtherLabel[]
  notes: string[]
}

/**
 * Checks before a run sends anything whether that could mint a row twice. The collection may have rows of a new run, if
 * its state was lost. It may have rows that were absent and are to be sent again. And it may have rows that a resumed
 * run would send, if its state is an older copy. Rows that a server knows by their reference IDs are adopted.
 *
 * @throws GdnError `already_accepted`, `seems_minted`
 */
export async function findEarlierMints(
  store: RunStore,
  options: BatchOptions,
  deps: CheckDeps,
  { gathered, plan, pairs }: { gathered: Gathered; plan: Plan; pairs: readonly Pair[] },
): Promise<EarlierMints> {
  const { drop } = store
  const isNew = drop.setId === null
  const before: EarlierMints = { listed: null, adopted: [], relabeled: [], notes: [] }
  const repeated = !isNew && options.retryAbsent === true ? await repeatedRows(store, gathered) : new Set<number>()
  const repeats = repeated.size > 0
  const looks = options.again !== true && options.skipLookup !== true
  // Another machine may have minted the first drop of this name.
  const looksForNames = looks || (options.skipLookup !== true && isSharedScope(drop.referenceScope))
  const goesOn = !isNew && looks && options.reconcileOnly !== true && plan.rows > 0
  if (!(isNew || repeats || goesOn) || deps.client === null) return before

  const { label } = options
  const labeled = pairsOfOthers(pairs, label)
  if (label != null && labeled.length > 0 && options.adopt !== true) {
    throw otherLabels(labeled, labeled.length, new Set(labeled.map((one) => one.label)), label)
  }
  const asker: Asker = { client: deps.client, signal: options.signal }
  before.listed = await listed(asker, options, looks, before.notes)
  // A state that lost its requests still has the list of earlier NFTs. A new run has no NFTs of its own yet.
  const unrecordedIn = (ids: Iterable<string>) =>
    store.read((sql) => unrecordedNfts(sql, drop.collectionId, isNew ? null : drop.listedAt, ids))
  // After the listing, so that rows that another machine has minted since then don't count as unknown NFTs.
  const hasUnrecorded = before.listed === null || (await unrecordedIn(before.listed)).length > 0
  // A resumed run may be stopped by a label that was there before it. Another machine may have given IDs of this manifest
  // to NFTs that a run minted without one. The NFT of an ID in this run may have been minted as a row that is new now.
  const mayHaveIds =
    deps.client.supportsAliases() === true &&
    (await store.read((sql) =>
      isNew ? hasUnnamed(sql, store.collections(sql)) : addsUnnamed(sql, drop, gathered.rows),
    ))
  const mayBeKnown = looksForNames && (hasUnrecorded || options.adopt === true || mayHaveIds)
  const named = mayBeKnown ? await knownReferences(store, options, deps.client, { gathered, plan }) : null
  const { rows: known } = named ?? { rows: [] }
  const relabeled = [...labeled, ...(named?.relabeled ?? [])]
  before.adopted = known
  before.relabeled = relabeled
  if (relabeled.length > 0) {
    const labels = shownLabels(new Set(relabeled.map(({ label }) => label)))
    before.notes.push(`Rows whose NFTs have the label ${labels}, which is replaced: ${relabeled.length}`)
  }
  const adopted = new Set([...known, ...pairs].map(({ nftGdnId }) => nftGdnId))
  const others = (ids: Iterable<string>) => new Set([...ids].filter((id) => !adopted.has(id)))
  if (before.listed !== null) before.listed = others(before.listed)
  if (before.listed === null || (isNew && !looks)) return before
  const unrecorded = (ids: Iterable<string>) => unrecordedIn(others(ids))
  const pending = new Set(positionsOf(plan))
  for (const { row } of known) pending.delete(row.position)
  const rows = (wanted: (row: KeptRow) => boolean) => () => only(store.rows(gathered.rows), wanted)
  const marker = drop.marker ?? undefined
  if (repeats) {
    const absent = new RowLookup(
      rows(({ position }) => repeated.has(position) && pending.has(position)),
      marker,
    )
    await lookUp(absent, asker, await unrecorded(before.listed), deps.onEvent)
    if (absent.hasMatches) throw await seemsMinted(absent.found(), drop.name, 'absent')
    if (!looks) return before
  }
  const open = isNew ? null : await openPositions(store, gathered, pending)
  const lookup = new RowLookup(
    open === null ? rows(({ position }) => pending.has(position)) : () => sentFirst(store, gathered, open),
    marker,
  )
  const look = async (ids: Iterable<string>) => await lookUp(lookup, asker, await unrecorded(ids), deps.onEvent)
  await look(before.listed)
  // A server with reference IDs lists what it has accepted at once.
  const settles = deps.client.supportsReferences() !== true
  const settle = async () => (settles ? await settleListing(options, deps, asker, look) : (before.listed ?? []))
  const settled = options.adopt === true ? others(await settle()) : null
  if (!lookup.hasMatches) {
    if (isNew && options.keepEdited !== true && before.adopted.length === 0) {
      before.notes.push(...(await notesOfOthers(store, options, deps, await unrecorded(before.listed))))
    }
    return { ...before, listed: settled ?? before.listed }
  }
  // A run that started meanwhile may have minted them. Then the error names it, and nothing is adopted.
  await store.read((sql) => refuseTaken(sql, store, options, { ...gathered, pending }))
  const matches = () => unsent(store, lookup.found(), open)
  if (settled !== null) {
    // Adopted NFTs are the run's own. All others were there before it.
    const { unresolved } = await readOthers(store, [])
    const found = await adopt(matches(), unresolved, deps.client.supportsReferences() === true)
    for (const { nftGdnId } of found) settled.delete(nftGdnId)
    before.adopted = [...known, ...found]
    before.listed = settled
    return before
  }
  for await (const _match of matches()) {
    const hasReferences = deps.client.supportsReferences() === true
    throw await seemsMinted(matches(), drop.name, isNew ? 'new' : 'forgotten', hasReferences)
  }
  return before
}

/**
 * Refuses a plan of a new run as its mint would: NFTs of the collection have the content of rows to be minted.
 *
 * @param positions of the rows to be minted
 * @param ids NFTs that no row names
 * @throws GdnError `seems_minted`
 */
export async function refuseMintedBefore(
  store: RunStore,
  asker: Asker,
  { positions, ids, hasReferences }: { positions: ReadonlySet<number>; ids: readonly string[]; hasReferences: boolean },
): Promise<void> {
  const rows = () => only(store.rows('draft'), ({ position }) => positions.has(position))
  const lookup = new RowLookup(rows, store.drop.marker ?? undefined)
  await lookUp(lookup, asker, ids, undefined)
  if (lookup.hasMatches) throw await seemsMinted(lookup.found(), store.drop.name, 'new', hasReferences)
}

/** Returns notes about the NFTs of the collection, if none is of a row: the manifest may have been renamed. */
async function notesOfOthers(
  store: RunStore,
  options: BatchOptions,
  { client }: CheckDeps,
  unrecorded: readonly string[],
): Promise<string[]> {
  const renamed = await store.read((sql) => notesOfRenamed(sql, options))
  if (renamed.length > 0 || unrecorded.length === 0 || client?.supportsReferences() !== true) return renamed
  return [noteOfUnnamed(unrecorded.length)]
}

async function* only(rows: AsyncIterable<KeptRow>, wanted: (row: KeptRow) => boolean): AsyncGenerator<KeptRow> {
  for await (const row of rows) if (wanted(row)) yield row
}

/** Rows without an NFT in the state, by position, and whether each was sent before. */
async function openPositions(
  store: RunStore,
  { rows, foundBy }: Gathered,
  pending: ReadonlySet<number>,
): Promise<Map<number, boolean>> {
  const open = new Map<number, boolean>()
  for await (const page of plannedPages(store.state, rows, store.drop, foundBy)) {
    for (const { position, state } of page.rows) {
      if (pending.has(position)) open.set(position, state !== null)
      else if (state === 'unknown' || state === 'absent' || state === 'sent') open.set(position, true)
    }
  }
  return open
}

/**
 * Yields the rows that were sent first. Equal rows differ only by their number, and the outcomes of requests in the
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

/** Returns the rows that the run never sent, without NFTs that were assigned meanwhile. */
async function* unsent(
  store: RunStore,
  found: AsyncIterable<FoundRow>,
  open: ReadonlyMap<number, boolean> | null,
): AsyncGenerator<FoundRow> {
  for await (const one of found) {
    if (open?.get(one.row.position) === true) continue
    if ((await store.read((sql) => givenNfts(sql, [one.match.id]))).size === 0) yield one
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
      throw error.with({
        message: `can't list the NFTs of the collection: ${error.message}`,
        hint: `Nothing was sent.${error.hint === undefined ? '' : ` ${error.hint}`} To skip this check, add --no-lookup.`,
      })
    }
    notes.push(`The collection can't be listed (${error.message}), so gdn doesn't know whether rows were minted before`)
    return null
  }
}

async function lookUp(
  lookup: RowLookup,
  asker: Asker,
  unrecorded: readonly string[],
  onEvent: ((event: BatchEvent) => void) | undefined,
): Promise<{ fresh: number; unread: number }> {
  const read = await lookup.read(asker, unrecorded, (done, total) => onEvent?.({ type: 'looking_up', done, total }))
  if (read === null) throw interruption(asker.signal?.reason)
  return read
}

/**
 * Lists until two listings in a row, some time apart, have nothing new. A row that isn't listed yet would be sent
 * again.
 */
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
      throw new GdnError('seems_minted', 'the listing of the collection did not become reliable within the timeout', {
        hint: 'Nothing was sent. Try again with a longer --timeout.',
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

/**
 * Returns rows with their NFTs.
 *
 * @param unresolved contents of other rows and commands with an unknown outcome
 * @throws GdnError `seems_minted` where the NFTs may be of those, or belong to other wallets
 */
async function adopt(
  matches: AsyncIterable<FoundRow>,
  unresolved: ReadonlySet<string>,
  hasReferences: boolean,
): Promise<Adopted[]> {
  const adopted: Adopted[] = []
  const wrong: FoundRow[] = []
  const doubtful: FoundRow[] = []
  for await (const found of matches) {
    const { row, match } = found
    if (unresolved.has(match.content)) doubtful.push(found)
    else if (match.owner !== null && !ownersOf(row.row).includes(match.owner)) wrong.push(found)
    else adopted.push({ row, nftGdnId: match.id })
  }
  if (doubtful.length > 0) {
    throw new GdnError(
      'seems_minted',
      `${rowsOf(doubtful)} can't be adopted: another run or command has sent the same metadata, with an unknown outcome`,
      {
        hint: 'Nothing was sent. Run `gdn batch list --all` to find it. Resolve its outcome first, or remove it with `gdn batch rm`.',
        details: { rows: doubtful.slice(0, MAX_NAMED).map(named), count: doubtful.length },
      },
    )
  }
  if (wrong.length === 0) return adopted
  throw new GdnError(
    'seems_minted',
    `${rowsOf(wrong)} can't be adopted: NFTs with the same metadata belong to other wallets and may have been moved there`,
    {
      hint: [
        'Nothing was sent.',
        ...(hasReferences ? [RENAMED] : []),
        'If these rows were minted and their NFTs transferred since, remove the rows, and run the same command again.',
        'To mint them in addition, move them to a manifest of their own, and mint that with --run <name> --no-lookup.',
      ].join('\n'),
      details: { rows: wrong.slice(0, MAX_NAMED).map(named), count: wrong.length },
    },
  )
}

const RENAMED = 'If the manifest was renamed since its mint, add --run <former file name>.'

const rowsOf = ({ length }: readonly unknown[]): string => (length === 1 ? '1 row' : `${length} rows`)

const named = ({ row, match }: FoundRow) => ({
  key: shownKey(row.key),
  line: row.row.line,
  nft_gdn_id: match.id,
})

async function seemsMinted(
  matches: AsyncIterable<FoundRow>,
  run: string,
  which: 'new' | 'absent' | 'forgotten',
  hasReferences = false,
): Promise<GdnError> {
  const rows: ReturnType<typeof named>[] = []
  let count = 0
  for await (const found of matches) if (count++ < MAX_NAMED) rows.push(named(found))
  const many = count === 1 ? '1 row' : `${count} rows`
  if (which === 'forgotten') {
    const message = `${many} of the manifest seem to be in the collection already, and the run ${run} has no record of them`
    return new GdnError('seems_minted', message, {
      hint: [
        'Nothing was sent. The state directory may be an older copy, or another machine resumed the run: use the newest one.',
        'To treat these rows as minted and send the others, run `gdn batch mint <manifest> --adopt`.',
        'To send all of them nevertheless, run `gdn batch mint <manifest> --no-lookup`.',
      ].join('\n'),
      details: { rows, count },
    })
  }
  return which === 'new'
    ? new GdnError('seems_minted', `${many} of the manifest seem to be in the collection already`, {
        hint: [
          'Nothing was sent, and no run was created that could be resumed or reconciled.',
          ...(hasReferences ? [RENAMED] : []),
          'To treat these rows as minted and send the others, run `gdn batch mint <manifest> --adopt`.',
          'To mint all rows nevertheless, run `gdn batch mint <manifest> --again`.',
        ].join('\n'),
        details: { rows, count },
      })
    : new GdnError('seems_minted', `${many} that had been absent are now in the collection`, {
        hint: `Nothing was sent. Run \`gdn batch reconcile ${run}\` to find out which rows they are.`,
        details: { rows, count },
      })
}

/**
 * Positions of rows to be sent again because reconciling found them absent, without those that a person declared
 * absent.
 */
async function repeatedRows(store: RunStore, { rows }: Gathered): Promise<Set<number>> {
  const wanted = new Set(await store.read((sql) => absentKeys(sql, store.drop, MARKED_ABSENT)))
  const positions = new Set<number>()
  if (wanted.size === 0) return positions
  for await (const { key, position } of store.rows(rows)) if (wanted.has(key)) positions.add(position)
  return positions
}
