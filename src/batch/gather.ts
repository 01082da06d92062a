import { stat } from 'node:fs/promises'
import type { Attribute } from '../api/traits.ts'
import { findTypedTrait } from '../api/typed-trait.ts'
import { refuseTypedTrait } from '../client/learn-support.ts'
import { GdnError } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { issuesError } from '../manifest/manifest-error.ts'
import type { ManifestItem } from '../manifest/read.ts'
import type { ManifestIssue, ManifestRow } from '../manifest/row.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { type Drop, type FileIdentity, isListDrop } from '../state/drops.ts'
import type { RelocatedRow } from '../state/edited-rows.ts'
import { rowsNamedTwice } from '../state/pinned-names.ts'
import { countByState } from '../state/row-outcomes.ts'
import {
  addRows,
  countFailedOutside,
  countRows,
  emptyDraft,
  findRowChanges,
  type LookupMethod,
  moveDraft,
  newSet,
  type PlannedRow,
  plannedPages,
  type RowChange,
  type RowLocation,
  type RowRecord,
  readRowPage,
} from '../state/rows.ts'
import type { OperationState } from '../state/transitions.ts'
import { findRelocatedRows } from './identity/moved-files.ts'
import { pinStoredNames } from './identity/pinned-names.ts'
import { type RequestPlan, RequestPlanBuilder } from './request-plan.ts'
import { namedTwiceIssue, renumberBurnedCopies } from './rows/duplicate-rows.ts'
import { parseStoredRow, RowNamer, type StoredRow } from './rows/manifest-row.ts'
import { checkMarkerRoom } from './rows/marker.ts'
import { isUnsent, noCounts, STATUS, withTotal } from './rows/row-counts.ts'
import { formatKey, isContentKey } from './rows/row-key.ts'
import { hasNames } from './rows/row-text.ts'
import type { StoredRun } from './runs/stored-run.ts'
import type { BatchClient, BatchDeps, BatchOptions, Items, ManifestChanges } from './types.ts'

/**
 * The rows of a run, from the manifest or the state. Rows from the manifest form a new set, and the stored rows don't
 * change until the run refers to that set.
 */
export interface RowSet {
  rows: RowLocation
  /** Whether the rows were read from the manifest. If false, they are the stored rows. */
  isRead: boolean
  changes: ManifestChanges
  /** Sent rows whose local files were moved. These rows don't count as changed. */
  relocated: readonly RelocatedRow[]
  fingerprint: string | null
  localFiles: FileIdentity[]
  /** Positions of rows that were sent with different content. Empty until the rows are planned. */
  changedPositions: number[]
  /** A plan builder for a new run, whose rows are all unsent. Null for a run that has begun. */
  newRunPlan: RequestPlanBuilder | null
  /** Whether the operations of rows are found by line or by identity. Determined when the rows are planned. */
  foundBy: LookupMethod
  /** The addresses of the ENS names in the manifest. Empty if the manifest wasn't read. */
  names: ReadonlyMap<string, string>
  /** Notes about the manifest for the user. */
  notes: readonly string[]
  /** The first typed trait in the manifest. Undefined if the manifest has none or wasn't read. */
  typed: TypedTrait | undefined
}

/** A typed trait and the line of its row. */
export interface TypedTrait {
  trait: Attribute
  line: number
}

type Options = Pick<BatchOptions, 'reconcileOnly' | 'retryFailed' | 'retryAbsent'>

/**
 * Maximum number of local files that are checked individually for changes. With more files, the checks take as long as
 * reading the manifest.
 */
const MAX_LOCAL_FILES = 10_000
export const MAX_CHANGE_EXAMPLES = 50
const MAX_REPORTED_ISSUES = 10_000
const MAX_NAME_NOTES = 10
/** Number of rows that are written to the draft at a time. At 10,000 rows, the heap grows by 35 MB. */
const ROWS_PER_ENTRY = 1_000
/**
 * Size of the draft, in bytes, at which its rows are moved to the set in one transaction. The limit keeps the event
 * loop and other processes from waiting too long. With one transaction per 2,000 rows, half of the time was spent
 * waiting for a busy disk.
 */
const MAX_MOVED_BYTES = 2 * 1024 * 1024

export const noManifestChanges = (): ManifestChanges => ({
  added: 0,
  changed: 0,
  keptAccepted: 0,
  removed: 0,
  removedUnsent: 0,
  removedFailed: 0,
  examples: [],
})

/**
 * Reads the manifest into a new set of rows that nothing refers to yet, or into a draft in a dry run. If the manifest
 * and its local files are unchanged, returns the stored rows instead.
 *
 * @throws GdnError `invalid_manifest`, `not_found_locally`, `data_dir`
 */
export async function gather(
  { readManifest }: Pick<BatchDeps, 'readManifest'>,
  run: StoredRun,
  { writes, ensNames }: { writes: boolean } & Pick<BatchOptions, 'ensNames'>,
): Promise<RowSet> {
  const { drop } = run
  const { setId, fingerprint, localFiles } = drop
  const pinned = await pinStoredNames(run, { ensNames })
  if (readManifest === null) {
    if (setId !== null) return toStoredRowSet(drop, setId)
    throw new GdnError('not_found_locally', `the rows of the run ${drop.name} are not stored on this machine`, {
      hint: 'Pass the manifest.',
    })
  }
  const items: Items = readManifest()
  const isUnchanged =
    setId !== null &&
    fingerprint !== null &&
    (await items.fingerprint?.()) === fingerprint &&
    (await areFilesUnchanged(localFiles))
  if (isUnchanged) {
    await reportMovedNames(pinned, drop, ensNames)
    return toStoredRowSet(drop, setId)
  }
  const rows: RowLocation = writes ? { set: await run.write((sql) => newSet(sql, drop.id)) } : 'draft'
  const newRunPlan = setId === null ? new RequestPlanBuilder() : null
  const { paths, names, notes, typed } = await readManifestRows(
    run,
    checkMarkerRoom(items, drop.marker ?? undefined),
    rows,
    newRunPlan,
  )
  const files = await readFileIdentities(paths)
  const { changes, relocated } =
    setId === null ? { changes: noManifestChanges(), relocated: [] } : await compareWithStoredRows(run, rows, setId)
  return {
    rows,
    isRead: true,
    changes,
    relocated,
    fingerprint: files === null ? null : (items.digest?.() ?? null),
    localFiles: files ?? [],
    changedPositions: [],
    newRunPlan,
    foundBy: 'identity',
    names,
    notes: [...(items.notes?.() ?? []), ...notes],
    typed,
  }
}

/** Reports the ENS names whose address has changed since the run began. The run keeps the earlier addresses. */
async function reportMovedNames(
  pinned: ReadonlyMap<string, string>,
  { blockchain }: Drop,
  ensNames: BatchOptions['ensNames'],
): Promise<void> {
  if (pinned.size === 0) return
  await ensNames?.open(new Set(pinned.keys()), blockchain)
  await ensNames?.close()
}

const toStoredRowSet = ({ fingerprint, localFiles }: Drop, set: number): RowSet => ({
  rows: { set },
  isRead: false,
  changes: noManifestChanges(),
  relocated: [],
  fingerprint,
  localFiles: [...localFiles],
  changedPositions: [],
  newRunPlan: null,
  foundBy: 'identity',
  names: new Map(),
  notes: [],
  typed: undefined,
})

/** The result of reading the rows of a manifest. */
interface ReadRows {
  /** The paths of all local files. */
  paths: ReadonlySet<string>
  /** The addresses of the ENS names. */
  names: ReadonlyMap<string, string>
  /** Notes about the ENS names for the user. */
  notes: readonly string[]
  typed: TypedTrait | undefined
}

/**
 * Reads the rows of a manifest into a new set of the run, or into the draft.
 *
 * @param planBuilder the plan builder to which each row is added
 * @throws GdnError `invalid_manifest` with the problems in `details`: `{ issues, issue_count }`
 */
export async function readManifestRows(
  run: StoredRun,
  items: Items,
  to: RowLocation,
  planBuilder: RequestPlanBuilder | null = null,
): Promise<ReadRows> {
  await run.state.scratch(emptyDraft)
  const names = new Map<string, string>()
  const namer = new RowNamer()
  const paths = new Set<string>()
  const issues: ManifestIssue[] = []
  let issueCount = 0
  let count = 0
  let waiting: RowRecord[] = []
  let draftedBytes = 0
  let typed: TypedTrait | undefined
  const flush = async () => {
    const rows = waiting
    waiting = []
    await run.state.scratch((sql) => addRows(sql, rows))
  }
  const move = async () => {
    draftedBytes = 0
    if (to !== 'draft') await run.write((sql) => moveDraft(sql, to.set))
  }
  const file = run.drop.manifest ?? undefined
  const addIssue = (issue: ManifestIssue) => {
    if (issueCount++ < MAX_REPORTED_ISSUES) issues.push({ ...issue, place: { file, ...issue.place } })
  }
  for await (const block of items.blocks?.() ?? asBlocks(items)) {
    for (const item of block) {
      const record = 'issue' in item ? null : namer.name(item.row)
      if ('issue' in item || record === null) {
        addIssue('issue' in item ? item.issue : duplicateIdIssue(item.row))
        continue
      }
      const { row } = item
      for (const { path } of row.localFiles) paths.add(path)
      if (hasNames(row)) addNames(names, row)
      typed ??= typedTraitOf(row)
      count++
      planBuilder?.add(record)
      if (issueCount === 0) {
        waiting.push(record)
        draftedBytes += record.body.length
      }
    }
    if (waiting.length >= ROWS_PER_ENTRY || draftedBytes >= MAX_MOVED_BYTES) await flush()
    if (draftedBytes >= MAX_MOVED_BYTES) await move()
  }
  if (issueCount > 0) throw issuesError('invalid_manifest', issues, issueCount)
  if (count === 0) throw new GdnError('invalid_manifest', 'the manifest has no rows')
  await flush()
  await move()
  if (names.size > 0) await refuseDuplicateParties(run, to)
  if (run.drop.setId !== null) await renumberCopies(run, to)
  return { paths, names, notes: formatNameNotes(names, namer), typed }
}

/**
 * Renumbers equal rows. If a copy was removed from the manifest, gdn assumes that it was a copy whose NFT was burned.
 */
async function renumberCopies(run: StoredRun, rows: RowLocation): Promise<void> {
  const renumber = (sql: Sql) => renumberBurnedCopies(sql, run.drop, rows)
  await (rows === 'draft' ? run.state.scratch(renumber) : run.write(renumber))
}

const formatNameNotes = (names: ReadonlyMap<string, string>, namer: RowNamer): string[] =>
  [...names]
    .filter(([, address]) => namer.hasReceiver(address))
    .slice(0, MAX_NAME_NOTES)
    .map(([name, address]) => `${name} resolves to ${address}, which is also the receiver of other rows`)

/**
 * Refuses the rows of a manifest if the server doesn't support their typed traits.
 *
 * @throws GdnError `refused`
 */
export async function refuseTypedRow(
  client: BatchClient,
  typed: TypedTrait | undefined,
  { file, signal }: { file: string | null; signal: AbortSignal | undefined },
): Promise<void> {
  const place = { file: file ?? undefined, line: typed?.line }
  await refuseTypedTrait(client, typed?.trait, { place, signal })
}

/** Returns the first typed trait that the row's NFT will have. An unrevealed NFT gets the trait when it is revealed. */
function typedTraitOf({ line, metadata, identity }: ManifestRow): TypedTrait | undefined {
  const trait = findTypedTrait(metadata) ?? findTypedTrait(identity?.metadata)
  return trait && { trait, line }
}

function addNames(names: Map<string, string>, { receiver, receiverName, sender, senderName }: ManifestRow): void {
  if (receiverName !== undefined) names.set(receiverName, receiver)
  if (senderName !== undefined && sender !== null) names.set(senderName, sender)
}

/**
 * Refuses rows that differ only in how they specify the same receiver or sender: by address or by ENS name.
 *
 * @throws GdnError `invalid_manifest`
 */
async function refuseDuplicateParties(run: StoredRun, rows: RowLocation): Promise<void> {
  const duplicatePairs = await run.read((sql) => rowsNamedTwice(sql, rows, MAX_REPORTED_ISSUES))
  if (duplicatePairs.length === 0) return
  const file = run.drop.manifest ?? undefined
  const issues = duplicatePairs.map((pair) => namedTwiceIssue(file, pair))
  throw issuesError('invalid_manifest', issues, issues.length)
}

const duplicateIdIssue = ({ id, line }: ManifestRow): ManifestIssue => ({
  place: { line, field: 'id' },
  message: `the ID ${JSON.stringify(id)} is already used in an earlier row`,
  hint: 'Give each row a unique ID, or omit the ID.',
})

async function* asBlocks(items: AsyncIterable<ManifestItem>): AsyncGenerator<readonly ManifestItem[]> {
  for await (const item of items) yield [item]
}

/**
 * Compares the rows that were read with the stored rows of the run.
 *
 * @param unchangedPositions positions of rows to treat as unchanged
 */
export async function compareWithStoredRows(
  run: StoredRun,
  rows: RowLocation,
  setId: number,
  unchangedPositions: readonly number[] = [],
): Promise<Pick<RowSet, 'changes' | 'relocated'> & { differing: RowChange[] }> {
  const { state, drop } = run
  const changes = noManifestChanges()
  const differing: RowChange[] = []
  const differences = await state.read((sql) => findRowChanges(sql, rows, { ...drop, setId }))
  const hasChanged = differences.some(({ kind }) => kind === 'changed')
  const relocated = hasChanged ? await findRelocatedRows(run, rows, setId) : []
  const receivers = { added: 0, removed: 0 }
  const unchanged = new Set([...unchangedPositions, ...relocated.map(({ position }) => position)])
  for (const difference of differences) {
    const { kind, position, key, line, state: was } = difference
    if (kind === 'changed' && unchanged.has(position)) continue
    changes[kind]++
    differing.push(difference)
    if (kind !== 'changed' && key.endsWith('#1')) receivers[kind]++
    if (kind === 'changed' && !isUnsent(was) && was !== 'failed') changes.keptAccepted++
    if (kind === 'removed' && isUnsent(was)) changes.removedUnsent++
    if (kind === 'removed' && (was === 'failed' || was === 'absent')) changes.removedFailed++
    if (changes.examples.length >= MAX_CHANGE_EXAMPLES) continue
    const from = kind === 'removed' ? { set: setId } : rows
    const [record] = isContentKey(key) ? await state.read((sql) => readRowPage(sql, from, position - 1, 1)) : []
    const name = record === undefined ? formatKey(key) : parseStoredRow(record).row.metadata.title
    changes.examples.push({ kind, key: name, line })
  }
  // The keys of a receiver's NFTs end in `#1`, `#2` and so on, so counting the keys with `#1` counts the receivers.
  if (isListDrop(drop)) changes.receivers = receivers
  return { changes, relocated, differing }
}

export async function planRows(run: StoredRun, gathered: RowSet, options: Options): Promise<RequestPlan> {
  const { drop } = run
  const { rows, newRunPlan } = gathered
  if (newRunPlan !== null) {
    run.counts = { ...noCounts(), total: newRunPlan.rows, pending: newRunPlan.rows }
    return newRunPlan.build(drop.chunkSize, drop.inOrder)
  }
  const states = new Map((await run.read((sql) => countByState(sql, drop.id))).map(({ state, n }) => [state, n]))
  const sentCount = [...states.values()].reduce((sum, n) => sum + n, 0)
  const openStates: OperationState[] = ['planned', 'intended', ...retriedStates(options)]
  const isOpen = openStates.some((state) => states.has(state))
  if (!isOpen && (await isAllSent(run, gathered, sentCount))) {
    const counts = noCounts()
    for (const [state, rowCount] of states) counts[STATUS[state]] += rowCount
    run.counts = { ...counts, total: sentCount }
    return new RequestPlanBuilder().build(drop.chunkSize, drop.inOrder)
  }
  gathered.foundBy = 'line'
  let sentRows = await findRows(run, gathered, options)
  // If every operation was found, the remaining rows have no operation. Otherwise, some of the remaining rows may have
  // been sent from another line, so search by identity.
  if (sentRows.sent !== sentCount) {
    gathered.foundBy = 'identity'
    sentRows = await findRows(run, gathered, options)
  }
  gathered.changedPositions = sentRows.changed
  const counts = noCounts()
  for (const [state, rowCount] of states) {
    // Planned and failed rows that were removed from the manifest no longer belong to the run.
    if (state === 'planned' || state === 'intended') continue
    counts[STATUS[state]] += rowCount - (sentRows.excluded.get(state) ?? 0)
    if (state === 'failed' && sentRows.failed < rowCount)
      counts.failed -= await run.read((sql) => countFailedOutside(sql, rows, run.drop))
  }
  counts.pending = sentRows.pending.rows
  run.counts = withTotal(counts)
  return sentRows.pending.build(drop.chunkSize, drop.inOrder)
}

/**
 * Returns whether the counts alone prove that every row was sent. Comparing a million rows with their operations
 * instead would take seconds. The counts prove this only if the run still has its initial rows.
 */
async function isAllSent(run: StoredRun, { rows }: RowSet, sentCount: number): Promise<boolean> {
  if (rows === 'draft' || rows.set !== run.drop.firstSet) return false
  return sentCount === (await run.read((sql) => countRows(sql, rows.set)))
}

/**
 * Returns the plan without the rows that are already minted: adopted rows, and rows that were sent under another key.
 * Updates the counts of the run. Adopted rows count as accepted. Renamed rows are already counted under their earlier
 * keys.
 */
export function withoutMinted(
  run: StoredRun,
  plan: RequestPlan,
  { renamed = [], adopted = [] }: { renamed?: readonly StoredRow[]; adopted?: readonly StoredRow[] },
): RequestPlan {
  const rest = plan.without(new Set([...renamed, ...adopted].map(({ position }) => position)))
  const renamedRows = new Set(renamed.map(({ position }) => position)).size
  run.countMove('pending', 'accepted', plan.rows - rest.rows - renamedRows)
  run.counts = { ...run.counts, pending: rest.rows, total: run.counts.total - renamedRows }
  return rest
}

async function findRows(run: StoredRun, { rows, foundBy }: RowSet, options: Options) {
  const pending = new RequestPlanBuilder()
  const changed: number[] = []
  /**
   * For each operation state, the number of operations whose rows are sent again or adopted. These operations aren't
   * counted.
   */
  const excluded = new Map<OperationState, number>()
  let [sent, failed] = [0, 0]
  for await (const page of plannedPages(run.state, rows, run.drop, foundBy)) {
    sent += page.sent
    for (const row of page.rows) {
      const { state } = row
      if (row.isChanged === 1) changed.push(row.position)
      if (state === 'failed') failed++
      if (!isPending(row, options)) continue
      pending.add(row)
      if (state !== null) excluded.set(state, (excluded.get(state) ?? 0) + 1)
    }
  }
  return { pending, changed, excluded, sent, failed }
}

/** Returns the operation states whose rows this command sends again. */
export const retriedStates = ({ retryFailed, retryAbsent }: Options): OperationState[] => [
  ...(retryFailed === true ? (['failed'] as const) : []),
  ...(retryAbsent === true ? (['absent'] as const) : []),
]

/** Returns whether this command sends the row. */
function isPending({ state, isChanged }: PlannedRow, options: Options): boolean {
  if (state === null || state === 'planned' || state === 'intended') return true
  // Treat an edited row that failed like a new row, because it has no NFT.
  if (state === 'failed' && isChanged === 1) return true
  if (options.reconcileOnly === true) return false
  return retriedStates(options).includes(state)
}

/**
 * Returns the sizes and modification times of local files, or null if there are too many files or one can't be read.
 */
async function readFileIdentities(paths: ReadonlySet<string>): Promise<FileIdentity[] | null> {
  if (paths.size > MAX_LOCAL_FILES) return null
  const identities: FileIdentity[] = []
  for (const path of paths) {
    const stats = await stat(existingPath(path)).catch(() => null)
    if (stats === null) return null
    identities.push({ path, size: stats.size, mtimeMs: stats.mtimeMs })
  }
  return identities
}

async function areFilesUnchanged(files: readonly FileIdentity[]): Promise<boolean> {
  for (const { path, size, mtimeMs } of files) {
    const stats = await stat(existingPath(path)).catch(() => null)
    if (stats === null || !stats.isFile() || stats.size !== size || stats.mtimeMs !== mtimeMs) return false
  }
  return true
}
