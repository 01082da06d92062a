import { count } from '../../core/count.ts'
import type { Asker } from '../../operations/reconcile/listing.ts'
import { givenNfts, unrecordedNfts } from '../../state/known-nfts.ts'
import { absentKeys } from '../../state/row-outcomes.ts'
import { plannedPages } from '../../state/rows.ts'
import { addsUnnamed, hasUnnamed } from '../../state/unnamed-rows.ts'
import type { Gathered } from '../gather.ts'
import { type OtherLabel, otherLabels, shownLabels } from '../identity/other-labels.ts'
import { type Pair, pairsOfOthers } from '../identity/pairing.ts'
import { type Plan, positionsOf } from '../plan.ts'
import { readOthers } from '../reconcile/others.ts'
import type { Adopted, KeptRow } from '../rows/manifest-row.ts'
import { isSharedScope } from '../rows/row-key.ts'
import { noteOfUnnamed, notesOfRenamed } from '../runs/moved-run.ts'
import { MARKED_ABSENT } from '../runs/results.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { BatchClient, BatchEvent, BatchOptions, CheckDeps } from '../types.ts'
import { knownReferences } from './known-references.ts'
import { listCollection, settleListing, untilComplete } from './list-collection.ts'
import { type FoundRow, hasOwnerOf, type LookCounts, RowLookup } from './lookup.ts'
import { neededLooks } from './needed-looks.ts'
import { belongToOthers, foundAgain, mayBeOfOthers, seemsMinted } from './seems-minted.ts'

/** The known earlier mints before a run sends anything. */
export interface EarlierMints {
  /** The IDs that the collection has; null where they aren't known. */
  listed: Set<string> | null
  /** Rows that were minted already and are adopted. */
  adopted: Adopted[]
  /** The rows whose label on the server is replaced. */
  relabeled: OtherLabel[]
  notes: string[]
}

/** The run that starts, its rows and its server. */
interface Start {
  store: RunStore
  options: BatchOptions
  deps: CheckDeps
  client: BatchClient
  gathered: Gathered
  plan: Plan
}

/**
 * Checks before a run sends anything whether that could mint a row twice. `neededLooks` decides which of these cases
 * apply. They are checked in this order:
 *
 * 1. Rows that got an ID since their mint have another label: refused, unless they are adopted.
 * 2. The server knows rows by their reference IDs: they are adopted, and not sent (`knownReferences`).
 * 3. Rows that were absent are to be sent again, and the collection has their content by now: refused.
 * 4. The collection has NFTs that this machine doesn't know, with the content of rows to be sent. A new run may have
 *    lost its state, and the state of a resumed run may be an older copy: refused, or adopted with `--adopt`.
 *
 * For example, a new run has the rows A, B and C. The server knows the reference ID of A, so A is adopted. An NFT that
 * another tool minted has the content of B, so the run is refused. With `--adopt`, only C is sent.
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
  const { client } = deps
  const isNew = drop.setId === null
  const before: EarlierMints = { listed: null, adopted: [], relabeled: [], notes: [] }
  const repeated = !isNew && options.retryAbsent === true ? await repeatedRows(store, gathered) : new Set<number>()
  const looks = neededLooks({
    ...options,
    isNew,
    isSharedScope: isSharedScope(drop.referenceScope),
    pending: plan.rows,
    repeated: repeated.size,
  })
  if (!looks.listing || client === null) return before

  const start: Start = { store, options, deps, client, gathered, plan }
  const labeledPairs = labeledOf(pairs, options)
  before.listed = await listCollection(askerOf(start), options, looks.contents, before.notes)
  const asksForReferences = looks.references && (await mayBeKnown(start, before.listed))
  const fromServer = asksForReferences ? await knownReferences(store, options, client, { gathered, plan }) : null
  before.adopted = fromServer?.rows ?? []
  before.notes.push(...(fromServer?.notes ?? []))
  before.relabeled = [...labeledPairs, ...(fromServer?.relabeled ?? [])]
  if (before.relabeled.length > 0) before.notes.push(noteOfRelabeled(before.relabeled))
  if (before.listed === null) return before

  const nfts = new UnexplainedNfts(store, [...before.adopted, ...pairs])
  before.listed = nfts.of(before.listed)
  const pending = new Set(positionsOf(plan))
  for (const { row } of before.adopted) pending.delete(row.position)
  if (looks.absent) {
    const positions = new Set([...repeated].filter((position) => pending.has(position)))
    await refuseFoundAgain(start, positions, await nfts.unrecorded(before.listed))
  }
  return looks.contents ? await findByContent(start, { ...before, listed: before.listed }, { nfts, pending }) : before
}

const askerOf = ({ client, options: { signal } }: Start): Asker => ({ client, signal })

/**
 * Returns the pairs that have another label than the run, which is replaced.
 *
 * @throws GdnError `seems_minted` unless it is to be adopted
 */
function labeledOf(pairs: readonly Pair[], { label, adopt }: BatchOptions): OtherLabel[] {
  const labeled = pairsOfOthers(pairs, label)
  if (label == null || labeled.length === 0 || adopt === true) return labeled
  throw otherLabels({
    first: labeled,
    count: labeled.length,
    labels: new Set(labeled.map((pair) => pair.label)),
    own: label,
  })
}

function noteOfRelabeled(relabeled: readonly OtherLabel[]): string {
  const labels = shownLabels(new Set(relabeled.map(({ label }) => label)))
  return `gdn replaces the label ${labels} on the NFTs of ${count(relabeled.length, 'row')}`
}

/**
 * Returns the NFTs of IDs that the state has no record of. A state that lost its requests still has the list of earlier
 * NFTs. A new run has no NFTs of its own yet.
 */
async function unrecordedOf(store: RunStore, ids: Iterable<string>): Promise<string[]> {
  const { collectionId, setId, listedAt } = store.drop
  return await store.read((sql) => unrecordedNfts(sql, collectionId, setId === null ? null : listedAt, ids))
}

/** The NFTs of a collection that don't belong to known rows. */
class UnexplainedNfts {
  readonly #store: RunStore
  readonly #explained: ReadonlySet<string>

  /** @param known rows whose NFTs are known */
  constructor(store: RunStore, known: readonly { nftGdnId: string }[]) {
    this.#store = store
    this.#explained = new Set(known.map(({ nftGdnId }) => nftGdnId))
  }

  of(ids: Iterable<string>): Set<string> {
    return new Set([...ids].filter((id) => !this.#explained.has(id)))
  }

  /** Returns the IDs that the state has no record of. */
  async unrecorded(ids: Iterable<string>): Promise<string[]> {
    return await unrecordedOf(this.#store, this.of(ids))
  }
}

/**
 * Returns whether the server may know rows by their reference IDs.
 *
 * @param listed the collection. It was listed before, so that rows that another machine has minted since then don't
 *   count as unknown NFTs
 */
async function mayBeKnown({ store, options, client, gathered }: Start, listed: Set<string> | null): Promise<boolean> {
  const { drop } = store
  if (listed === null || options.adopt === true || (await unrecordedOf(store, listed)).length > 0) return true
  // A resumed run may be stopped by a label that was there before it. Another machine may have given IDs of this
  // manifest to NFTs that a run minted without one. The NFT of an ID in this run may have been minted as a row that is
  // new now.
  if (client.supports('aliases') !== true) return false
  return await store.read((sql) =>
    drop.setId === null ? hasUnnamed(sql, store.collections(sql)) : addsUnnamed(sql, drop, gathered.rows),
  )
}

/** Refuses rows to be sent again that had been absent. @throws GdnError `seems_minted` */
async function refuseFoundAgain(
  start: Start,
  positions: ReadonlySet<number>,
  unrecorded: readonly string[],
): Promise<void> {
  const { store, gathered, deps } = start
  const rows = () => only(store.rows(gathered.rows), ({ position }) => positions.has(position))
  const lookup = new RowLookup(rows, store.drop.marker ?? undefined)
  await lookUp(lookup, askerOf(start), unrecorded, deps.onEvent)
  if (lookup.hasMatches) throw await foundAgain(lookup.found(), store.drop.name)
}

/**
 * Looks for the content of pending rows in the collection. Such rows are adopted, if that is asked for.
 *
 * @throws GdnError `seems_minted`
 */
async function findByContent(
  start: Start,
  before: EarlierMints & { listed: Set<string> },
  { nfts, pending }: { nfts: UnexplainedNfts; pending: ReadonlySet<number> },
): Promise<EarlierMints> {
  const { store, options, deps, client, gathered } = start
  const isNew = store.drop.setId === null
  const open = isNew ? null : await openPositions(store, gathered, pending)
  const rows = () =>
    open === null
      ? only(store.rows(gathered.rows), ({ position }) => pending.has(position))
      : sentFirst(store, gathered, open)
  const lookup = new RowLookup(rows, store.drop.marker ?? undefined)
  const look = async (ids: Iterable<string>) =>
    await lookUp(lookup, askerOf(start), await nfts.unrecorded(ids), deps.onEvent)

  // A server with reference IDs lists what it has accepted at once.
  const mayLag = client.supports('references') !== true
  const counts = await look(before.listed)
  let { listed } = before
  if (options.adopt === true) {
    listed = nfts.of(mayLag ? await settleListing(options, deps, askerOf(start), look) : listed)
  } else if (mayLag) {
    await untilComplete(options, deps, counts, () => look(before.listed))
  }
  if (!lookup.hasMatches) {
    if (isNew && options.keepEdited !== true && before.adopted.length === 0) {
      before.notes.push(...(await notesOfOthers(store, options, deps, await nfts.unrecorded(before.listed))))
    }
    return { ...before, listed }
  }
  const matches = () => unsent(store, lookup.found(), open)
  if (options.adopt === true) return await adoptMatches(start, { ...before, listed }, matches())
  for await (const _match of matches()) {
    throw await seemsMinted(matches(), {
      run: store.drop.name,
      pending: only(store.rows(gathered.rows), ({ position }) => pending.has(position)),
      which: isNew ? 'new' : 'forgotten',
      hasReferences: client.supports('references') === true,
    })
  }
  return before
}

/**
 * Adopts the NFTs that have the content of rows. All others were there before the run.
 *
 * @throws GdnError `seems_minted` where the NFTs may be of other rows and commands with an unknown outcome, or belong
 *   to other wallets
 */
async function adoptMatches(
  { store, client }: Start,
  before: EarlierMints & { listed: Set<string> },
  matches: AsyncIterable<FoundRow>,
): Promise<EarlierMints> {
  const { unresolved } = await readOthers(store, [])
  const adopted: Adopted[] = []
  const ofOtherWallets: FoundRow[] = []
  const doubtful: FoundRow[] = []
  for await (const foundRow of matches) {
    const { row, match } = foundRow
    if (unresolved.has(match.content)) doubtful.push(foundRow)
    else if (!hasOwnerOf(foundRow)) ofOtherWallets.push(foundRow)
    else adopted.push({ row, nftGdnId: match.id })
  }
  if (doubtful.length > 0) throw mayBeOfOthers(doubtful)
  if (ofOtherWallets.length > 0) throw belongToOthers(ofOtherWallets, client.supports('references') === true)
  const listed = new Set(before.listed)
  for (const { nftGdnId } of adopted) listed.delete(nftGdnId)
  return { ...before, adopted: [...before.adopted, ...adopted], listed }
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
  if (!lookup.hasMatches) return
  throw await seemsMinted(lookup.found(), { run: store.drop.name, pending: rows(), which: 'new', hasReferences })
}

/** Returns notes about the NFTs of the collection, if none is of a row: the manifest may have been renamed. */
async function notesOfOthers(
  store: RunStore,
  options: BatchOptions,
  { client }: CheckDeps,
  unrecorded: readonly string[],
): Promise<string[]> {
  const renamed = await store.read((sql) => notesOfRenamed(sql, options))
  if (renamed.length > 0 || unrecorded.length === 0 || client?.supports('references') !== true) return renamed
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

async function lookUp(
  lookup: RowLookup,
  asker: Asker,
  unrecorded: readonly string[],
  onEvent: ((event: BatchEvent) => void) | undefined,
): Promise<LookCounts> {
  return await lookup.read(asker, unrecorded, (done, total) => onEvent?.({ type: 'looking_up', done, total }))
}

/**
 * Positions of rows to be sent again because reconciling found them absent, except rows that the user declared absent.
 */
async function repeatedRows(store: RunStore, { rows }: Gathered): Promise<Set<number>> {
  const wanted = new Set(await store.read((sql) => absentKeys(sql, store.drop, MARKED_ABSENT)))
  const positions = new Set<number>()
  if (wanted.size === 0) return positions
  for await (const { key, position } of store.rows(rows)) if (wanted.has(key)) positions.add(position)
  return positions
}
