import { count } from '../../core/count.ts'
import type { RecordSource } from '../../operations/reconcile/listing.ts'
import { isListDrop, isUnrevealed } from '../../state/drops.ts'
import { assignedNfts, listUnrevealedOfOtherRuns, unrecordedNfts } from '../../state/known-nfts.ts'
import { absentKeys } from '../../state/row-outcomes.ts'
import { addedRows, type RowLocation } from '../../state/rows.ts'
import { hasAddedRowsWithoutId, hasRowsWithoutId } from '../../state/unnamed-rows.ts'
import type { RowSet } from '../gather.ts'
import { formatLabels, type OtherLabel, refuseMintedElsewhere } from '../identity/other-labels.ts'
import { findOtherLabels, type Pair } from '../identity/pairing.ts'
import { readOtherRecords } from '../reconcile/unknown-rows.ts'
import { listPositions, type RequestPlan } from '../request-plan.ts'
import type { AdoptedRow, StoredRow } from '../rows/manifest-row.ts'
import { isSharedScope } from '../rows/row-key.ts'
import { formatUnmatchedNftsNote, readRenamedRunNotes } from '../runs/moved-run.ts'
import { MARKED_ABSENT_REASON } from '../runs/results.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchEvent, BatchOptions, CheckDeps } from '../types.ts'
import { findMintedElsewhere, readOpenPositions, refuseCommittedRows } from './committed-rows.ts'
import { knownReferences } from './known-references.ts'
import { listCollection, neededSearches, waitForSettledListing, waitUntilComplete } from './list-collection.ts'
import { type FoundRow, hasOwnerOf, RowLookup, type SearchCounts } from './lookup.ts'
import {
  belongToOthersError,
  foundAbsentError,
  mayBelongToOthersError,
  revealedByOthersError,
  seemsMintedAsError,
  seemsMintedError,
} from './seems-minted.ts'

/** Information about earlier mints, collected before a run sends anything. */
export interface EarlierMints {
  /** The IDs of the NFTs in the collection. Null if the listing failed or wasn't needed. */
  listed: Set<string> | null
  /** Rows that are already minted and that the run adopts. */
  adopted: AdoptedRow[]
  /** The rows whose label on the server will be replaced. */
  relabeled: OtherLabel[]
  /** The adopted rows whose NFTs have other content. */
  differing: readonly AdoptedRow[]
  notes: string[]
}

/** A run that is about to start, with its rows and its server. */
interface StartingRun {
  run: StoredRun
  options: BatchOptions
  deps: CheckDeps
  client: BatchClient
  gathered: RowSet
  plan: RequestPlan
  /** Whether the NFTs that were listed when the run began count as recorded. */
  trustsListing: boolean
}

/**
 * Checks whether a run could mint a row twice, before the run sends anything. A run that sends nothing only adopts rows
 * that another machine has minted (`findMintedElsewhere`). `neededSearches` decides which of these cases are checked,
 * in this order:
 *
 * 1. Rows that got an ID after they were minted have another label: refused, unless they are adopted.
 * 2. The server already has the reference IDs of rows: adopted, and not sent (`knownReferences`).
 * 3. Absent rows would be sent again, but the collection now has their content: refused.
 * 4. The collection has unrecorded NFTs with the content of rows to be sent. The state may have been lost, or may be an
 *    older copy: refused, or adopted with `--adopt`.
 * 5. Another run of this machine already minted some of these rows as unrevealed NFTs, which are revealed now: refused.
 * 6. Another run minted rows of the same commitment: refused, or adopted with `--adopt` if they have the same
 *    placeholder.
 *
 * For example, a new run has the rows A, B and C. The server already has the reference ID of A, so A is adopted. An NFT
 * that another tool minted has the content of B, so the run is refused. With `--adopt`, only C is sent.
 *
 * @throws GdnError `already_accepted`, `seems_minted`
 */
export async function findEarlierMints(
  run: StoredRun,
  options: BatchOptions,
  deps: CheckDeps,
  { gathered, plan, pairs }: { gathered: RowSet; plan: RequestPlan; pairs: readonly Pair[] },
): Promise<EarlierMints> {
  const { drop } = run
  const { client } = deps
  const isNew = drop.setId === null
  const mints: EarlierMints = { listed: null, adopted: [], relabeled: [], differing: [], notes: [] }
  if (options.reconcileOnly === true) {
    if (client !== null) mints.adopted = await findMintedElsewhere(run, options, client, gathered)
    return mints
  }
  const repeated = !isNew && options.retryAbsent === true ? await rowsToRepeat(run, gathered) : new Set<number>()
  const searches = neededSearches({
    ...options,
    isNew,
    isSharedScope: isSharedScope(drop.referenceScope),
    // Count rows with an unknown outcome. Their requests are repeated, but another run may have minted the rows in the
    // meantime.
    pendingCount: plan.rows + (options.committedRow === undefined ? 0 : run.counts.unknown),
    repeatedCount: repeated.size,
  })
  if (!searches.listing || client === null) return mints

  const added = await addedPositions(run, gathered)
  const trustsListing = added !== null && added.size === 0
  const start: StartingRun = { run, options, deps, client, gathered, plan, trustsListing }
  const labeledPairs = findOtherLabels(pairs, options.label)
  refuseMintedElsewhere(labeledPairs, options)
  mints.listed = await listCollection(sourceOf(start), options, searches.contents, mints.notes)
  const asksForReferences = searches.references && (await mayBeKnown(start, mints.listed))
  const fromServer = asksForReferences ? await knownReferences(run, options, client, { gathered, plan }) : null
  mints.adopted = fromServer?.rows ?? []
  mints.differing = fromServer?.differing ?? []
  mints.notes.push(...(fromServer?.notes ?? []))
  mints.relabeled = [...labeledPairs, ...(fromServer?.relabeled ?? [])]
  if (mints.relabeled.length > 0) mints.notes.push(formatRelabelNote(mints.relabeled))
  if (mints.listed === null) return mints

  const explained = new Set([...mints.adopted, ...pairs].map(({ nftGdnId }) => nftGdnId))
  const listUnexplained = (ids: Iterable<string>) => new Set([...ids].filter((id) => !explained.has(id)))
  const listed = listUnexplained(mints.listed)
  const toSend = new Set(listPositions(plan))
  for (const { row } of mints.adopted) toSend.delete(row.position)
  if (searches.absent) {
    const positions = new Set([...repeated].filter((position) => toSend.has(position)))
    await refuseFoundAbsent(start, positions, await findUnrecordedNfts(start, listed))
  }
  // A second drop (`--again`) repeats NFTs from before the drop on purpose. If rows were added to it, or if the NFTs
  // weren't listed when it began, the search includes such NFTs, so it is limited to the added rows.
  const includesEarlier = !trustsListing || drop.listedAt === null
  const pending =
    drop.again && includesEarlier ? new Set([...toSend].filter((position) => added?.has(position) === true)) : toSend
  const remaining = { ...mints, listed }
  if (!searches.contents) return remaining
  await refuseRevealed(run, sourceOf(start), { rows: gathered.rows, positions: pending })
  const unrecorded = await findUnrecordedNfts(start, listed)
  const hidden = await refuseCommittedRows(run, options, client, { gathered, unrecorded, pending })
  const earlierMints = await findByContent(start, remaining, { unexplained: listUnexplained, pending })
  for (const { row } of earlierMints.adopted) hidden.delete(row.position)
  if (hidden.size > 0) throw seemsMintedAsError('with another placeholder', hidden.size, '--no-lookup')
  return earlierMints
}

const sourceOf = ({ client, options: { signal } }: StartingRun): RecordSource => ({ client, signal })

function formatRelabelNote(relabeled: readonly OtherLabel[]): string {
  const labels = formatLabels(new Set(relabeled.map(({ label }) => label)))
  return `gdn replaces the label ${labels} on the NFTs of ${count(relabeled.length, 'row')}`
}

/**
 * Returns the IDs of NFTs that have no record in the state. NFTs that were listed when the run began may count as
 * recorded, even if the state has lost their requests. A new run has no such list yet.
 */
async function findUnrecordedNfts(
  { run, trustsListing }: Pick<StartingRun, 'run' | 'trustsListing'>,
  ids: Iterable<string>,
): Promise<string[]> {
  const { collectionId, listedAt } = run.drop
  return await run.read((sql) => unrecordedNfts(sql, collectionId, trustsListing ? listedAt : null, ids))
}

/**
 * Returns the positions of the rows that may not have been compared with the NFTs that were listed when the run began:
 * rows that were added or edited afterwards. Another machine may have minted such a row before the run began. Returns
 * null for all rows, as in a new run or in a run with a list of receivers.
 */
async function addedPositions(run: StoredRun, { rows }: RowSet): Promise<Set<number> | null> {
  const { drop } = run
  if (drop.setId === null || (isListDrop(drop) && !drop.again)) return null
  const added = await run.read((sql) => addedRows(sql, rows, drop))
  return new Set(added.map(({ position }) => position))
}

/**
 * Returns whether the server may already have the reference IDs of rows.
 *
 * @param listed the IDs in the collection, from an earlier listing. A newer listing could contain NFTs that another
 *   machine has minted since then
 */
async function mayBeKnown(
  { run, options, client, gathered, trustsListing }: StartingRun,
  listed: Set<string> | null,
): Promise<boolean> {
  const { drop } = run
  if (
    listed === null ||
    options.adopt === true ||
    (await findUnrecordedNfts({ run, trustsListing }, listed)).length > 0
  )
    return true
  // In a new run, a row with an ID may have an NFT that an earlier run minted without the ID. In a resumed run, a new
  // row without an ID may have the content of a minted row that got an ID afterwards.
  if (client.supports('aliases') !== true) return false
  return await run.read((sql) =>
    drop.setId === null ? hasRowsWithoutId(sql, run.collections(sql)) : hasAddedRowsWithoutId(sql, drop, gathered.rows),
  )
}

/**
 * Refuses to send absent rows again if the collection has them.
 *
 * @throws GdnError `seems_minted`
 */
async function refuseFoundAbsent(
  start: StartingRun,
  positions: ReadonlySet<number>,
  unrecorded: readonly string[],
): Promise<void> {
  const { run, gathered, deps } = start
  const lookup = await lookUpRows(run, { rows: gathered.rows, positions }, sourceOf(start), unrecorded, deps.onEvent)
  if (lookup.hasMatches) throw await foundAbsentError(lookup.findRows(), run.drop.name)
}

/**
 * Refuses rows that another run of this machine minted as unrevealed NFTs, which are revealed now. The state has no
 * record of the reveal, because it stores the content with which the NFTs were minted.
 *
 * @throws GdnError `already_accepted`
 */
async function refuseRevealed(run: StoredRun, source: RecordSource, selection: RowSelection): Promise<void> {
  const { drop } = run
  // The rows of an unrevealed drop have the content of the placeholder.
  if (drop.again || isUnrevealed(drop)) return
  const ids = await run.read((sql) => listUnrevealedOfOtherRuns(sql, drop.id, run.collections(sql)))
  if (ids.length === 0) return
  const lookup = await lookUpRows(run, selection, source, ids)
  if (lookup.hasMatches) throw await revealedByOthersError(lookup.findRows())
}

/**
 * Searches for the content of pending rows in the collection, and adopts the rows that are found if the user permits
 * it.
 *
 * @throws GdnError `seems_minted`
 */
async function findByContent(
  start: StartingRun,
  mints: EarlierMints & { listed: Set<string> },
  { unexplained, pending }: { unexplained: (ids: Iterable<string>) => Set<string>; pending: ReadonlySet<number> },
): Promise<EarlierMints> {
  const { run, options, deps, client, gathered } = start
  const isNew = run.drop.setId === null
  const open = isNew ? null : await readOpenPositions(run, gathered, pending)
  const rows = () =>
    open === null
      ? selectedRows(run, { rows: gathered.rows, positions: pending })
      : readSentRowsFirst(run, gathered, open)
  const { isOfOtherDrop } = options
  const lookup = new RowLookup(rows, run.drop.marker ?? undefined, { isOfOtherDrop, byOwner: isListDrop(run.drop) })
  const search = async (ids: Iterable<string>) =>
    await lookUp(lookup, sourceOf(start), await findUnrecordedNfts(start, unexplained(ids)), deps.onEvent)

  // A server with reference IDs lists accepted NFTs immediately.
  const mayLag = client.supports('references') !== true
  const counts = await search(mints.listed)
  let { listed } = mints
  if (options.adopt === true) {
    if (mayLag) listed = unexplained(await waitForSettledListing(options, deps, sourceOf(start), search))
  } else if (mayLag) {
    await waitUntilComplete(options, deps, counts, () => search(mints.listed))
  }
  if (!lookup.hasMatches) {
    if (isNew && options.keepEdited !== true && mints.adopted.length === 0) {
      mints.notes.push(...(await readOtherNftNotes(run, options, deps, await findUnrecordedNfts(start, mints.listed))))
    }
    return { ...mints, listed }
  }
  const matches = () => unsentRows(run, lookup.findRows(), open)
  if (options.adopt === true) return await adoptMatches(start, { ...mints, listed }, matches())
  for await (const _match of matches()) {
    throw await seemsMintedError(matches(), {
      run: run.drop.name,
      pending: selectedRows(run, { rows: gathered.rows, positions: pending }),
      which: isNew ? 'new' : 'forgotten',
      hasReferences: client.supports('references') === true,
    })
  }
  return mints
}

/**
 * Adopts the NFTs that have the content of rows. The other NFTs stay in `listed`, as NFTs from before the run.
 *
 * @throws GdnError `seems_minted` if an NFT may belong to another row or command with an unknown outcome, or belongs to
 *   another wallet
 */
async function adoptMatches(
  { run, client }: StartingRun,
  mints: EarlierMints & { listed: Set<string> },
  matches: AsyncIterable<FoundRow>,
): Promise<EarlierMints> {
  const { unresolved } = await readOtherRecords(run, [])
  const adopted: AdoptedRow[] = []
  const rowsOfOtherWallets: FoundRow[] = []
  const uncertainRows: FoundRow[] = []
  for await (const foundRow of matches) {
    const { row, match } = foundRow
    if (unresolved.has(match.content)) uncertainRows.push(foundRow)
    else if (!hasOwnerOf(foundRow)) rowsOfOtherWallets.push(foundRow)
    else adopted.push({ row, nftGdnId: match.id })
  }
  if (uncertainRows.length > 0) throw mayBelongToOthersError(uncertainRows)
  if (rowsOfOtherWallets.length > 0)
    throw belongToOthersError(rowsOfOtherWallets, client.supports('references') === true)
  const listed = new Set(mints.listed)
  for (const { nftGdnId } of adopted) listed.delete(nftGdnId)
  return { ...mints, adopted: [...mints.adopted, ...adopted], listed }
}

/**
 * Refuses a plan if NFTs of the collection already have the content of new rows. Such a plan couldn't be minted.
 *
 * @param positions the positions of the rows to be minted
 * @param ids the NFTs that belong to no row
 * @throws GdnError `seems_minted`, `already_accepted`
 */
export async function refuseMintedBefore(
  run: StoredRun,
  source: RecordSource,
  { positions, ids, hasReferences }: { positions: ReadonlySet<number>; ids: readonly string[]; hasReferences: boolean },
): Promise<void> {
  const selection = { rows: 'draft', positions } as const
  await refuseRevealed(run, source, selection)
  const lookup = await lookUpRows(run, selection, source, ids)
  if (!lookup.hasMatches) return
  const pending = selectedRows(run, selection)
  const which = run.drop.setId === null ? 'new' : 'forgotten'
  throw await seemsMintedError(lookup.findRows(), { run: run.drop.name, pending, which, hasReferences })
}

/** Returns notes if the collection has NFTs but none belongs to a row, because the manifest may have been renamed. */
async function readOtherNftNotes(
  run: StoredRun,
  options: BatchOptions,
  { client }: CheckDeps,
  unrecorded: readonly string[],
): Promise<string[]> {
  const renamed = await run.read((sql) => readRenamedRunNotes(sql, options))
  if (renamed.length > 0 || unrecorded.length === 0 || client?.supports('references') !== true) return renamed
  return [formatUnmatchedNftsNote(unrecorded.length)]
}

interface RowSelection {
  rows: RowLocation
  positions: Pick<ReadonlySet<number>, 'has'>
}

async function* selectedRows(run: StoredRun, { rows, positions }: RowSelection): AsyncGenerator<StoredRow> {
  for await (const row of run.rows(rows)) if (positions.has(row.position)) yield row
}

/** Searches for the content of rows among NFTs without a record in the state. */
export async function lookUpRows(
  run: StoredRun,
  selection: RowSelection,
  source: RecordSource,
  unrecorded: readonly string[],
  onEvent?: (event: BatchEvent) => void,
): Promise<RowLookup> {
  const lookup = new RowLookup(() => selectedRows(run, selection), run.drop.marker ?? undefined, {
    byOwner: isListDrop(run.drop),
  })
  await lookUp(lookup, source, unrecorded, onEvent)
  return lookup
}

/**
 * Yields the rows that were sent before, followed by the other rows, so that NFTs are matched with sent rows first. The
 * order matters for equal rows, which differ only in their copy number. `reconcile` resolves requests with an unknown
 * outcome.
 */
async function* readSentRowsFirst(
  run: StoredRun,
  { rows }: RowSet,
  open: ReadonlyMap<number, boolean>,
): AsyncGenerator<StoredRow> {
  for (const wasSent of [true, false]) {
    yield* selectedRows(run, { rows, positions: { has: (position) => open.get(position) === wasSent } })
  }
}

/** Yields the rows that the run never sent. Omits rows whose NFTs were assigned to another row in the meantime. */
async function* unsentRows(
  run: StoredRun,
  rows: AsyncIterable<FoundRow>,
  open: ReadonlyMap<number, boolean> | null,
): AsyncGenerator<FoundRow> {
  for await (const foundRow of rows) {
    if (open?.get(foundRow.row.position) === true) continue
    if ((await run.read((sql) => assignedNfts(sql, [foundRow.match.id]))).size === 0) yield foundRow
  }
}

async function lookUp(
  lookup: RowLookup,
  source: RecordSource,
  unrecorded: readonly string[],
  onEvent: ((event: BatchEvent) => void) | undefined,
): Promise<SearchCounts> {
  return await lookup.read(source, unrecorded, (done, total) => onEvent?.({ type: 'looking_up', done, total }))
}

/**
 * Returns the positions of rows to be sent again because reconciling found them absent. Omits rows that the user
 * declared absent.
 */
async function rowsToRepeat(run: StoredRun, { rows }: RowSet): Promise<Set<number>> {
  const absentRows = new Set(await run.read((sql) => absentKeys(sql, run.drop, MARKED_ABSENT_REASON)))
  const positions = new Set<number>()
  if (absentRows.size === 0) return positions
  for await (const { key, position } of run.rows(rows)) if (absentRows.has(key)) positions.add(position)
  return positions
}
