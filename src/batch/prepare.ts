import { refuseSilentBackend } from '../client/backend.ts'
import { GdnError } from '../core/errors.ts'
import { readRowsAt } from '../state/rows.ts'
import { checkBackend } from './check-backend.ts'
import {
  gather,
  MAX_CHANGE_EXAMPLES,
  noManifestChanges,
  planRows,
  type RowSet,
  refuseTypedRow,
  withoutMinted,
} from './gather.ts'
import { findReplacedOperationIds, pairRows, type RowPairs } from './identity/check-rows.ts'
import { refuseClaimedRows } from './identity/claim.ts'
import { findOutdatedLabels, MISSING_LABEL_NOTE } from './identity/other-labels.ts'
import { type Pair, selectRenamedPairs } from './identity/pairing.ts'
import { refuseRenamedReceivers } from './identity/pinned-names.ts'
import { refuseRenumbered } from './identity/renumbered.ts'
import { refuseRepeated } from './identity/repeated-rows.ts'
import { findSecondEdition } from './identity/second-edition.ts'
import { refuseContentsOfOtherRows } from './minted/contents-of-other-rows.ts'
import { type EarlierMints, findEarlierMints } from './minted/earlier-mints.ts'
import { storeRowsOfFinishedRun, takeRenamedRows, withoutRenamed } from './replace-rows.ts'
import { listPositions, type RequestPlan } from './request-plan.ts'
import { newDuplicates } from './rows/duplicate-rows.ts'
import { refuseEditedListRow, refuseReplacedFiles } from './rows/edited-list-row.ts'
import type { StoredRow } from './rows/manifest-row.ts'
import { formatKey, isSharedScope } from './rows/row-key.ts'
import { refuseFinished, refuseOtherManifest } from './runs/open-stored-run.ts'
import type { StoredRun } from './runs/stored-run.ts'
import { checkMaxSupply, EXCESS_ROWS_NOTE, findMaxSupplyProblem } from './supply.ts'
import type { BatchClient, BatchOptions, CheckDeps, Duplicates, ManifestChanges, PlannedEvent } from './types.ts'

/** A run that has passed every check, and whose rows can be stored. */
export interface PreparedRun {
  gathered: RowSet
  plan: RequestPlan
  mints: EarlierMints
  /** Rows whose key changed after they were minted, for example because they got an ID. */
  pairs: Pair[]
  /** Operation IDs of sent rows that are no longer in the manifest, if other rows were added. */
  replacedOperationIds: string[]
  planned: PlannedEvent
}

/**
 * Reads and plans the rows. Checks everything that can prevent the run: the backend, edits of the manifest, other runs,
 * and the NFTs of the collection. Dry runs call this function too, so they have the same result.
 *
 * @param writes whether to record the rows and the backend; false in a dry run
 * @throws GdnError, see `runBatch`
 */
export async function prepare(
  run: StoredRun,
  options: BatchOptions,
  deps: CheckDeps,
  { writes }: { writes: boolean },
): Promise<PreparedRun> {
  const { wasRestored, notes } = await checkBackend(run, options, deps, writes)
  const sends = options.reconcileOnly !== true
  const isNew = run.drop.setId === null
  const gathered = await gather(deps, run, { writes, ensNames: options.ensNames })
  let plan = await planRows(run, gathered, options)
  if (!gathered.isRead) gathered.changes = await countChangedRows(run, gathered, plan, options.editedRows)
  if (options.backend !== undefined && deps.client !== null) refuseSilentBackend(options.backend)
  if (!isNew && sends) await checkEdits(run, options, gathered, { writes, restored: wasRestored })
  const hasNew = gathered.isRead && sends && (isNew || gathered.changes.added > 0)
  if (hasNew && !isNew) await refuseRenamedReceivers(run, gathered.rows, gathered.names)
  const newPairs = await pairNewRows(run, options, deps, gathered, hasNew)
  const { pairs, renamed, pairedOnServer } = newPairs
  if (pairs.length > 0)
    plan = withoutMinted(run, plan, { renamed: toStoredRows(renamed), adopted: toStoredRows(pairedOnServer) })
  const pending = [...listPositions(plan), ...pairedOnServer.map(({ row }) => row.position)]
  await run.read((sql) => refuseClaimedRows(sql, run, options, { ...gathered, pending, renamed }))
  await refuseUnlessDynamic(run, options, deps, plan)
  if (sends && plan.rows > 0 && deps.client !== null) {
    await refuseTypedRow(deps.client, gathered.typed, { file: run.drop.manifest, signal: options.signal })
  }
  const mints = await findEarlierMints(run, options, deps, { gathered, plan, pairs })
  mints.notes.push(...notes, ...gathered.notes)
  await noteMovedManifest(run, options, deps, gathered, mints)
  const renamedPairs = await takeRenamedRows(run, gathered.rows, mints)
  const allPairs = pairs.concat(renamedPairs)
  plan = withoutMinted(run, plan, { renamed: toStoredRows(renamedPairs), adopted: toStoredRows(mints.adopted) })
  gathered.changes = withoutRenamed(gathered.changes, selectRenamedPairs(allPairs), renamedPairs)
  mints.adopted = [...pairedOnServer, ...mints.adopted]
  if (mints.adopted.length > 0) {
    mints.notes.push(`Rows not sent, because the server already has them: ${mints.adopted.length}`)
    if (isNew && (options.label ?? null) === null && plan.rows > 0) mints.notes.push(MISSING_LABEL_NOTE)
  }
  if (!isNew && sends) await refuseReplacedFiles(run, await run.rowsAt(gathered.rows, plan.withFiles.slice(0, 1)))
  if (sends && deps.client !== null) await checkSupply(deps.client, run, options, { gathered, plan, mints })
  const duplicates = sends && plan.rows > 0 ? await findDuplicates(run, gathered, mints) : { count: 0, rows: [] }
  const secondEdition = sends ? await findSecondEdition(run, gathered.rows, listPositions(plan)) : null
  if (sends) await refuseRepeats(run, options, deps, { gathered, plan, pairs: allPairs, mints })
  const { changes } = gathered
  const planned: PlannedEvent = { ...plannedOf(run, plan), changes, notes: mints.notes, duplicates, secondEdition }
  const renamedIds = new Set(renamedPairs.map(({ sent }) => sent))
  return {
    gathered,
    plan,
    mints,
    pairs: allPairs,
    replacedOperationIds: newPairs.replacedOperationIds.filter((id) => !renamedIds.has(id)),
    planned,
  }
}

/** Refuses new rows with the content of an NFT whose own row was removed or edited. */
async function refuseRepeats(
  run: StoredRun,
  options: BatchOptions,
  { client }: CheckDeps,
  { gathered: { rows }, plan, pairs, mints }: Pick<PreparedRun, 'gathered' | 'plan' | 'pairs' | 'mints'>,
): Promise<void> {
  if (plan.rows === 0) return
  const paired = new Map(pairs.flatMap(({ sent, row }) => (sent === null ? [] : [[sent, row.key] as const])))
  const toSend = { rows, pending: listPositions(plan), paired }
  await refuseRepeated(run, options, client, { ...toSend, updatesEdited: options.keepEdited === true })
  if (client === null) return
  const existing = [...mints.differing, ...pairs.filter(({ sent }) => sent === null)]
  await refuseContentsOfOtherRows(run, options, client, { rows, pending: listPositions(plan), existing })
}

/**
 * Refuses rows that exceed the maximum supply. In an interrupted run that has already sent rows, rows that no longer
 * fit aren't refused, because other machines may have used up the supply in the meantime. These rows fail when they are
 * sent, and a note says so.
 */
async function checkSupply(
  client: BatchClient,
  { counts: { unknown, accepted, deployed } }: StoredRun,
  options: BatchOptions,
  { gathered, plan, mints }: Pick<PreparedRun, 'gathered' | 'plan' | 'mints'>,
): Promise<void> {
  const { added, changed } = gathered.changes
  const isChosen = options.retryFailed === true || options.retryAbsent === true || added + changed > 0
  if (isChosen || unknown + accepted + deployed === 0) return await checkMaxSupply(client, options, plan.rows)
  const problem = await findMaxSupplyProblem(client, options, plan.rows)
  if (problem !== null) mints.notes.push(`${problem}. ${EXCESS_ROWS_NOTE}`)
}

const toStoredRows = (rows: readonly { row: StoredRow }[]): StoredRow[] => rows.map(({ row }) => row)

/**
 * Refuses to resume a run that is finished. Also refuses if the row of the run's list was edited, the manifest seems to
 * be that of another drop, or its rows seem to have been renumbered.
 */
async function checkEdits(
  run: StoredRun,
  options: BatchOptions,
  gathered: RowSet,
  { writes, restored }: { writes: boolean; restored: boolean },
): Promise<void> {
  if (gathered.isRead) await refuseEditedListRow(run, gathered.rows)
  await refuseOtherManifest(run, options, gathered.changes)
  const mayBeRenumbered = gathered.isRead && gathered.changes.changed > 0
  // `gdn apply` has already checked the rows for its plan.
  if (mayBeRenumbered && options.allowExchanged !== true && options.keepEdited !== true) {
    await run.read((sql) => refuseRenumbered(sql, run.drop, gathered.rows))
  }
  if (options.settle !== undefined || restored || run.movedFrom !== null) return
  if (writes) await storeRowsOfFinishedRun(run, gathered)
  refuseFinished(run, gathered.changes)
}

interface NewPairs {
  /** Rows whose key changed after they were minted, for example because they got an ID. */
  pairs: readonly Pair[]
  /** The pairs whose operations in the state get a new key. */
  renamed: RowPairs['renamedPairs']
  /** The pairs whose rows this machine didn't send. */
  pairedOnServer: Pair[]
  replacedOperationIds: string[]
}

/** Pairs new rows with NFTs that were minted under another key, and finds the sent rows that new rows replace. */
async function pairNewRows(
  run: StoredRun,
  options: BatchOptions,
  { client }: CheckDeps,
  { rows }: RowSet,
  hasNew: boolean,
): Promise<NewPairs> {
  const isNew = run.drop.setId === null
  const isSecond = options.again === true && !isSharedScope(run.drop.referenceScope)
  const lookupClient = isSecond || options.lookup === false ? null : client
  const none: NewPairs = { pairs: [], renamed: [], pairedOnServer: [], replacedOperationIds: [] }
  if (!hasNew || (isNew && lookupClient === null)) return none
  const { allPairs, renamedPairs, knownPairs } = await pairRows(run, options, lookupClient, rows)
  return {
    pairs: allPairs,
    renamed: renamedPairs,
    pairedOnServer: allPairs.filter(({ sent }) => sent === null),
    replacedOperationIds: await findReplacedOperationIds(run, options, lookupClient, { rows, paired: knownPairs }),
  }
}

/** Adds a note that the run continues with its moved manifest, and finds the labels to replace on the server. */
async function noteMovedManifest(
  run: StoredRun,
  options: BatchOptions,
  { client }: CheckDeps,
  gathered: RowSet,
  { notes, relabeled }: EarlierMints,
): Promise<void> {
  if (run.movedFrom === null || client === null) return
  relabeled.push(...(await findOutdatedLabels(run, options, client, gathered)))
  notes.push(`The run ${run.drop.name} continues with its manifest, which was moved from ${run.movedFrom}`)
}

const plannedOf = ({ drop: { id, name, setId }, counts }: StoredRun, plan: RequestPlan) => ({
  type: 'planned' as const,
  run: { id, name },
  resumed: setId !== null,
  rows: { ...counts },
  requests: plan.requests,
  receivers: plan.receivers,
  reordered: plan.reordered,
  files: plan.withFiles.length,
})

/** Returns the rows of a manifest that repeat earlier rows, except rows that are already minted. */
async function findDuplicates(
  run: StoredRun,
  { rows, isRead }: RowSet,
  { adopted }: EarlierMints,
): Promise<Duplicates> {
  if (!isRead) return { count: 0, rows: [] }
  const existing = new Set(adopted.map(({ row }) => row.position))
  return await run.read((sql) => newDuplicates(sql, run.drop, rows, (position) => !existing.has(position)))
}

/** Refuses a dynamic drop on a server that doesn't support creatednft. */
async function refuseUnlessDynamic(
  { drop }: StoredRun,
  { hasCreatednft, signal }: BatchOptions,
  { client }: CheckDeps,
  plan: RequestPlan,
): Promise<void> {
  if (!drop.dynamic || hasCreatednft === true || client === null || plan.rows === 0) return
  if (client.supports('updates') === null) await client.learnCapabilities({ signal })
  if (client.supports('updates') !== false) return
  throw new GdnError('usage', 'the server does not support creatednft, so its NFTs cannot be dynamic', {
    place: { flag: '--dynamic' },
    hint: 'For a service with version 1.2 of the API, run `gdn config set api_version 1.2`.',
  })
}

/**
 * Counts the rows that were sent with different content. Commands report these rows even if the manifest is unchanged.
 *
 * @param edited keys of the rows whose content in the manifest still differs. Default: all rows
 */
async function countChangedRows(
  run: StoredRun,
  { rows, changedPositions: positions }: RowSet,
  plan: RequestPlan,
  edited: ReadonlySet<string> | undefined,
): Promise<ManifestChanges> {
  const changes = noManifestChanges()
  if (positions.length === 0) return changes
  const sentPositions = new Set(listPositions(plan))
  for (const { key, line, position } of await run.read((sql) => readRowsAt(sql, rows, positions))) {
    if (edited?.has(key) === false) continue
    changes.changed++
    if (!sentPositions.has(position)) changes.keptAccepted++
    if (changes.examples.length < MAX_CHANGE_EXAMPLES)
      changes.examples.push({ kind: 'changed', key: formatKey(key), line })
  }
  return changes
}
