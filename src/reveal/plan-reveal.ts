import { hasFailed, isFinal } from '../api/nft-status.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import type { StoredRow } from '../batch/rows/manifest-row.ts'
import { formatKey } from '../batch/rows/row-key.ts'
import { rowTexts } from '../batch/rows/row-text.ts'
import { readRenamedRunNotes } from '../batch/runs/moved-run.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { GdnError } from '../core/errors.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PROVENANCE_ROW, PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../manifest/reveal-keys.ts'
import { formatUpdateReference, type Update, updatesPrefix } from '../plan/apply-updates.ts'
import { hasOtherOwner } from '../plan/compare.ts'
import { LabelConflicts } from '../plan/find-labels.ts'
import type { Candidate } from '../plan/find-nfts.ts'
import { type PlannedRun, plannedRun } from '../plan/planned.ts'
import { toNftState } from '../plan/seen-nfts.ts'
import type { NftState } from '../state/row-outcomes.ts'
import { findRowName } from '../state/rows.ts'
import { movedRowsError } from './moved-rows-error.ts'
import { mintedSlots, type RowWithoutNft, refuseOtherIds } from './other-ids.ts'
import { createRowLookup, findLeavesUrl } from './provenance-in.ts'
import type { ReadCommitment } from './read-commitment.ts'
import { type OpenRows, type RowMatch, withOpenRows } from './rows-with-nfts.ts'
import { type DrawnRows, withDrawnRows } from './shuffle/drawn-rows.ts'
import { readShuffleProof } from './slots-shown.ts'

/** A row that is not revealed, and the reason. */
export interface SkippedRow {
  /** The row's key. Null for a slot of a shuffled drop whose row isn't drawn yet. */
  key: string | null
  line: number | null
  /** The slot to which the row belongs in a shuffled drop. */
  slot?: number
  reason: string
}

/** Counts rows by the action that they need. */
interface RevealCounts {
  /** Rows whose NFTs are already revealed. */
  revealed: number
  /** Rows to reveal. */
  pending: number
  /** Pending rows whose update was already accepted. */
  accepted: number
  /** Rows without a deployed NFT. */
  notMinted: number
  /** The rows in `notMinted` for which the server has no NFT. */
  withoutNft: number
  /** The rows in `notMinted` whose NFTs are accepted but not deployed yet. */
  undeployed: number
  /** Rows whose NFTs can't be revealed or were changed outside the manifest. */
  left: number
  /**
   * The first rows of `notMinted` and `left`. Before the draw of a shuffled drop, includes only rows of `left`, because
   * the rows of unminted slots are unknown until then.
   */
  leftRows: SkippedRow[]
}

/** The effect of a reveal. */
export interface RevealPlan extends RevealCounts {
  run: PlannedRun
  rows: number
  /** The earlier path of a moved manifest; null if it wasn't moved. */
  movedFrom: string | null
  /** If no row has an NFT, notes about runs whose manifest may have been renamed to this one. */
  renamed: readonly string[]
  /** The NFTs with labels that the run's label replaces. */
  relabeled: Pick<LabelConflicts, 'count' | 'pages'>
  /** Rows that got an ID after they were minted, with the pairs to store. */
  paired: readonly StoredPair[]
  /** Yields the updates that reveal the rows, and recounts the rows afterwards. */
  updates(): AsyncGenerator<Update>
  /** Yields the revealed NFTs with their rows. */
  seen(): AsyncGenerator<NftState[]>
}

export interface RevealDeps {
  client: BatchClient
  readManifest(): AsyncIterable<ManifestItem>
  rows: ReadCommitment
  /** The rows that were drawn for the slots of a shuffled drop. */
  drawn?: DrawnRows | null
  onProgress?(done: number): void
}

const PAGE_SIZE = 1_000

/**
 * Finds the NFTs of all rows and passes the plan to `use`. Looks up an NFT by its reference ID, or else by the run in
 * the state. Sends only read requests.
 *
 * @throws GdnError `refused` if a row was minted as another row of the commitment; `seems_minted` if NFTs have another
 *   label and `adopt` isn't set; and the errors of `withPlan`
 */
export async function withRevealPlan<Result>(
  options: BatchOptions,
  { client, readManifest, rows, drawn = null, onProgress }: RevealDeps,
  use: (plan: RevealPlan) => Promise<Result>,
): Promise<Result> {
  // The commitment proves that no row was edited, so a row without a pair hasn't been minted.
  const items = drawn === null ? readManifest() : withDrawnRows(readManifest(), drawn)
  return await withOpenRows(options, client, items, async (open) => {
    const { run, source, pairs } = open
    const labels = new LabelConflicts(run, options.label ?? null)
    await labels.begin(pairs)
    const committedRows: CommittedRows = { ...open, commitment: await createCommittedDrop(rows, drawn) }
    const plan = planWithoutCounts(committedRows, labels)
    const { moved, missing } = await countFirst(plan, committedRows, { labels, onProgress })
    if (plan.withoutNft === plan.rows) plan.renamed = await run.read((sql) => readRenamedRunNotes(sql, options))
    labels.refuseUnlessAdopted(options.adopt === true)
    if (moved.length > 0) {
      throw movedRowsError('refused', 'the manifest differs from the one that was minted', {
        file: options.manifestPath,
        rows: moved,
        hint: 'Nothing was sent. Restore the manifest.',
      })
    }
    // If no row has an NFT, the manifest was probably renamed instead.
    if (missing.length < plan.rows && (await hasOtherIds(options, committedRows, missing))) {
      for await (const _ of recountRows(plan, committedRows));
    }
    if (plan.pending > 0 && !source.hasUpdates) {
      throw new GdnError('refused', "the server can't update NFTs", { hint: 'Use a gdn backend.' })
    }
    return await use(plan)
  })
}

/** The rows of a manifest, and the commitment that was made to them. */
interface CommittedRows extends OpenRows {
  commitment: CommittedDrop
}

async function createCommittedDrop(rows: ReadCommitment, drawn: DrawnRows | null): Promise<CommittedDrop> {
  const slotOfRow = new Map(Array.from(drawn?.rows ?? [], (row, at) => [row, at + 1]))
  const rowOf = await createRowLookup(rows.commitment)
  return { rows, drawn, slotOfRow, rowOf, otherIds: new Set() }
}

/** Returns a plan whose rows aren't counted yet. */
function planWithoutCounts(rows: CommittedRows, relabeled: LabelConflicts): RevealPlan {
  const { run, pairs } = rows
  const plan: RevealPlan = {
    run: plannedRun(run.drop),
    movedFrom: run.movedFrom,
    renamed: [],
    relabeled,
    paired: pairs.map((pair) => ({ ...pair, key: pair.row.key })),
    rows: 0,
    ...noCounts(),
    updates: () => readUpdates(plan, rows),
    seen: () => readSeenNfts(rows),
  }
  return plan
}

/** Counts the rows. Returns the rows that were minted as other rows, and the rows without an NFT. */
async function countFirst(
  plan: RevealPlan,
  rows: CommittedRows,
  { labels, onProgress }: { labels: LabelConflicts; onProgress: RevealDeps['onProgress'] },
): Promise<{ moved: { line: number; row: string }[]; missing: RowWithoutNft[] }> {
  const moved: { line: number; row: string }[] = []
  const missing: RowWithoutNft[] = []
  for await (const match of rows.readMatches(labels)) {
    const { candidate, nft } = match
    plan.rows++
    if (nft === undefined) missing.push({ position: candidate.row.position, line: candidate.row.row.line })
    const state = rowState(match, rows.commitment)
    if (state.kind === 'moved') moved.push({ line: candidate.row.row.line, row: state.row })
    await countRow(plan, rows, { match, state })
    if (plan.rows % PAGE_SIZE === 0) onProgress?.(plan.rows)
  }
  return { moved, missing }
}

/** Counts the rows again, and yields each of them. */
async function* recountRows(plan: RevealPlan, rows: CommittedRows): AsyncGenerator<RowInState> {
  const counts = noCounts()
  for await (const match of rows.readMatches()) {
    const row = { match, state: rowState(match, rows.commitment) }
    await countRow(counts, rows, row)
    yield row
  }
  Object.assign(plan, counts)
}

async function countRow(counts: RevealCounts, rows: CommittedRows, { match, state }: RowInState): Promise<void> {
  const { rows: made, drawn } = rows.commitment
  const isListed = made.commitment.rule === null || drawn !== null || state.kind === 'left'
  const reason = 'reason' in state && isListed && counts.leftRows.length < MAX_LISTED_SKIPPED_ROWS ? state.reason : null
  if (reason !== null) counts.leftRows.push({ ...(await readRowPosition(match.candidate, rows)), reason })
  countState(counts, match, state)
}

/**
 * Returns the name of the row whose content an NFT has or will have. In a shuffled drop, that row was drawn for the
 * slot.
 */
async function readRowPosition({ row: { key, row, position } }: Candidate, rows: CommittedRows): Promise<RowPosition> {
  const { rows: made, drawn } = rows.commitment
  if (made.commitment.rule === null) return { key: formatKey(key), line: row.line }
  const slot = position + 1
  const name =
    drawn === null ? null : await rows.run.read((sql) => findRowName(sql, 'draft', (drawn.rows[position] ?? slot) - 1))
  return { key: name === null ? null : formatKey(name.key), line: name?.line ?? null, slot }
}

/**
 * Records the rows without an NFT that were minted with another ID, and returns whether there are any.
 *
 * @throws GdnError `edited_rows` if the drop is shuffled
 */
async function hasOtherIds(
  options: BatchOptions,
  { source, commitment }: CommittedRows,
  missing: readonly RowWithoutNft[],
): Promise<boolean> {
  const { provenance, rule } = commitment.rows.commitment
  if (rule !== null) {
    await refuseOtherIds(source, options, missing, { provenance, slotOf: (metadata) => slotIn(metadata, commitment) })
    return false
  }
  // Another run may have minted rows of a drop that isn't shuffled, so other IDs are no reason to refuse the reveal.
  const otherSlots = await mintedSlots(source, options, missing, { provenance, slotOf: commitment.rowOf })
  for (const { slot } of otherSlots) commitment.otherIds.add(slot)
  return otherSlots.length > 0
}

async function* readUpdates(plan: RevealPlan, rows: CommittedRows): AsyncGenerator<Update> {
  // Count again, because an update may have ended or a row may have been minted in the meantime.
  for await (const { match, state } of recountRows(plan, rows)) {
    if (state.kind !== 'pending') continue
    const { key, line } = await readRowPosition(match.candidate, rows)
    yield { ...(await updateOf(match, rows.commitment)), key: key ?? '', line: line ?? 0 }
  }
}

async function* readSeenNfts({ readMatches, commitment }: CommittedRows): AsyncGenerator<NftState[]> {
  let page: NftState[] = []
  for await (const match of readMatches()) {
    const { candidate, nft } = match
    if (nft === undefined || rowState(match, commitment).kind !== 'revealed') continue
    const { row } = candidate.row
    // Record the owner only if it is the row's receiver, so that a later plan keeps an owner that others chose.
    const missing = hasOtherOwner(row, nft, { sendersOwn: false }) ? [{ want: 'transfer' as const }] : []
    page.push(toNftState(nft, Buffer.from(rowTexts(row).kept), missing))
    if (page.length === PAGE_SIZE) {
      yield page
      page = []
    }
  }
  yield page
}

const noCounts = (): RevealCounts => ({
  revealed: 0,
  pending: 0,
  accepted: 0,
  notMinted: 0,
  withoutNft: 0,
  undeployed: 0,
  left: 0,
  leftRows: [],
})

function countState(counts: RevealCounts, { nft }: RowMatch, state: RowState): void {
  if (state.kind === 'pending' && nft?.pending_change?.kind === 'update') counts.accepted++
  if (state.kind !== 'moved') counts[state.kind]++
  if (nft === undefined) counts.withoutNft++
  else if (!isFinal(nft.status)) counts.undeployed++
}

type RowPosition = Omit<SkippedRow, 'reason'>

const MAX_LISTED_SKIPPED_ROWS = 100

type RowState =
  | { kind: 'pending' | 'revealed' }
  /** The NFT was minted as another row. */
  | { kind: 'moved'; row: string }
  | { kind: 'notMinted' | 'left'; reason: string }

interface RowInState {
  match: RowMatch
  state: RowState
}

interface CommittedDrop {
  rows: ReadCommitment
  drawn: DrawnRows | null
  /** The slot of each drawn row, both counted from 1. Empty if no rows are drawn. */
  slotOfRow: ReadonlyMap<number, number>
  rowOf: Awaited<ReturnType<typeof createRowLookup>>
  /** The numbers of the rows without an NFT that were minted with another ID. */
  otherIds: Set<number>
}

/** The reason shown for a minted row whose ID belongs to no NFT. */
const OTHER_ID_REASON =
  'the row was minted with another ID or by a run with another name: if you changed the ID, restore it'

function rowState({ candidate, nft }: RowMatch, committed: CommittedDrop): RowState {
  const { rowOf } = committed
  const isDrawn = committed.drawn !== null
  if (nft === undefined && committed.otherIds.has(candidate.row.position + 1))
    return { kind: 'left', reason: OTHER_ID_REASON }
  if (nft === undefined || nft.status !== 'deployed') {
    const isPending = nft !== undefined && !hasFailed(nft.status)
    const reason = isPending
      ? 'the NFT is not deployed yet'
      : nft === undefined
        ? 'the row is not minted'
        : 'the mint of the row failed'
    return { kind: 'notMinted', reason: isDrawn && !isPending ? 'the slot that drew the row was not minted' : reason }
  }
  const metadata = Object(nft.request_metadata) as Record<string, unknown>
  if (nft.burned === true) return { kind: 'left', reason: 'the NFT is burned' }
  if (Number(nft.revision ?? 0) > 0) {
    if (isRevealedAs(metadata, shownMetadata(candidate.row, committed))) return { kind: 'revealed' }
    const slot = slotIn(metadata, committed)
    if (slot !== null && slot !== candidate.row.position + 1) return { kind: 'moved', row: String(slot) }
    const isOurs = nft.revision_reference_id?.startsWith(updatesPrefix(candidate.reference)) === true
    if (!isOurs) return { kind: 'left', reason: 'the metadata of the NFT was changed outside the manifest' }
    // If an earlier version of `gdn apply` removed the salt, the reveal restores it.
    if (!isRevealedAs(metadata, candidate.row.row.metadata)) {
      return { kind: 'left', reason: 'gdn apply changed the metadata of the NFT, and can restore it' }
    }
    return nft.is_frozen === true ? { kind: 'left', reason: 'the NFT is frozen' } : { kind: 'pending' }
  }
  const { [PROVENANCE_ROW]: row } = metadata
  if (row === undefined) return { kind: 'left', reason: 'the NFT was minted revealed' }
  if (findLeavesUrl(metadata) !== undefined && rowOf(metadata) === null) {
    return { kind: 'left', reason: 'the NFT was minted for another commitment' }
  }
  if (row !== String(candidate.row.position + 1)) return { kind: 'moved', row: String(row) }
  if (nft.is_frozen === true) return { kind: 'left', reason: 'the NFT is frozen' }
  if (nft.is_dynamic === false) return { kind: 'left', reason: 'the NFT is not dynamic' }
  return { kind: 'pending' }
}

/** Returns the slot of an NFT that this draw of a shuffled drop revealed; null for other NFTs. */
const slotIn = (metadata: unknown, { drawn, rowOf, slotOfRow }: CommittedDrop): number | null =>
  drawn !== null && readShuffleProof(metadata)?.signature === drawn.signature
    ? (slotOfRow.get(rowOf(metadata) ?? 0) ?? null)
    : null

/** Returns the metadata of a row's NFT after the reveal. */
const shownMetadata = ({ position, row }: StoredRow, { rows: { commitment }, drawn }: CommittedDrop) => ({
  ...row.metadata,
  [PROVENANCE_SALT]: commitment.saltOf(drawn?.rows[position] ?? position + 1).toString('hex'),
  ...(drawn === null ? {} : { [PROVENANCE_SIGNATURE]: drawn.signature }),
})

/** Returns the update that reveals a row, or that restores the salt of a revealed row. */
async function updateOf({ candidate, nft }: RowMatch, committed: CommittedDrop): Promise<Omit<Update, 'key' | 'line'>> {
  const { row, reference } = candidate
  const revision = nft?.revision ?? 0
  const files = row.row.localFiles.map(async ({ key, path }) => ({
    key,
    path,
    sha256: await committed.rows.hashOf(path),
  }))
  return {
    nftGdnId: nft?.nft_gdn_id ?? '',
    metadata: shownMetadata(row, committed),
    localFiles: await Promise.all(files),
    replacesRevision: revision,
    reference: formatUpdateReference(reference, revision),
  }
}

/**
 * Returns whether an NFT has the expected metadata. Compares only the keys of files, because the salt proves their
 * content.
 */
function isRevealedAs(metadata: Record<string, unknown>, expected: StoredRow['row']['metadata']): boolean {
  const { file_fields: files, ...actual } = metadata
  const { file_fields, ...wanted } = expected
  const keys = Array.isArray(files) ? files.map((field: { key?: unknown }) => field.key) : []
  return (
    canonicalJson(actual) === canonicalJson(wanted) &&
    canonicalJson(keys) === canonicalJson(file_fields.map((f) => f.key))
  )
}
