import { checkOptions } from '../batch/check-options.ts'
import { withReadOnlyRun } from '../batch/dry-run.ts'
import { readManifestRows, refuseTypedRow } from '../batch/gather.ts'
import { findReplacedOperationIds, pairRows } from '../batch/identity/check-rows.ts'
import { pinStoredNames, refuseRenamedReceivers } from '../batch/identity/pinned-names.ts'
import { refuseRepeated } from '../batch/identity/repeated-rows.ts'
import { refuseContentsOfOtherRows } from '../batch/minted/contents-of-other-rows.ts'
import { newDuplicates } from '../batch/rows/duplicate-rows.ts'
import { parseStoredRow } from '../batch/rows/manifest-row.ts'
import { checkMarkerRoom } from '../batch/rows/marker.ts'
import type { Duplicates } from '../batch/types.ts'
import { refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import { learnSupport } from '../client/learn-support.ts'
import { rowsOfKeptContents } from '../state/plan-tables.ts'
import { countByState } from '../state/row-outcomes.ts'
import { readRowPage, readRowPages } from '../state/rows.ts'
import { createTables } from '../state/temporary-tables.ts'
import type { OperationState } from '../state/transitions.ts'
import { checkPlan } from './check-plan.ts'
import { comparePage } from './compare-page.ts'
import { blockHiddenMints } from './hidden-mints.ts'
import { formatPlanNotes, type PlanNoteInputs } from './plan-notes.ts'
import { plannedChanges, readBurns, readUpdates, rowsWithChanges } from './plan-rows.ts'
import { newPlanState, type PlanState } from './plan-state.ts'
import { type ChangePlan, type PlanDeps, type PlanOptions, plannedRun } from './planned.ts'
import { addRemovedRows } from './removed-rows.ts'
import { SavedChanges } from './saved-changes.ts'

/** Number of rows in a page. The reference IDs of a page are looked up with one request, and its NFTs with another. */
const PAGE_SIZE = 1_000

/**
 * Compares a manifest with the existing NFTs and passes the plan to `use`. Memory use doesn't grow with the manifest,
 * because rows and changes are in temporary tables. Sends no request that changes anything, and writes nothing to the
 * state directory.
 *
 * @throws GdnError `invalid_manifest`, `run_busy`, `already_accepted`, `edited_rows`, `seems_minted`, `wrong_backend`,
 *   and errors of the server
 */
export async function withPlan<Result>(
  options: PlanOptions,
  deps: PlanDeps,
  use: (plan: ChangePlan) => Promise<Result>,
): Promise<Result> {
  checkOptions(options)
  return await withReadOnlyRun(options, async (run) => {
    const { drop } = run
    const { backend } = options
    if (backend !== undefined) {
      if (drop.setId !== null) refuseOtherBackend(`the run ${drop.name}`, drop.backend, backend)
      refuseSilentBackend(backend)
    }
    const saved = new SavedChanges(run.state)
    await saved.begin()
    await pinStoredNames(run, options)
    const items = checkMarkerRoom(deps.readManifest(saved), drop.marker ?? undefined)
    const { names, notes, typed } = await readManifestRows(run, items, 'draft')
    await saved.flush()
    await learnSupport(deps.client, options.signal)
    await refuseTypedRow(deps.client, typed, { file: drop.manifest, signal: options.signal })
    const pairs = await pairRows(run, options, deps.client, 'draft')
    const planning = newPlanState({ run, options, deps, saved, pairs, notes: [...notes] })
    await comparePages(planning)
    await addRemovedRows(planning)
    const otherEdition = await checkPlan(planning)
    const { labels } = planning
    const relabeled = { count: labels.count, labels: [...labels.labels], pages: () => labels.pages() }
    planning.notes.push(...formatPlanNotes(await toNoteFacts(planning, relabeled)))
    return await use({
      run: plannedRun(drop),
      counts: planning.tally.counts,
      notes: planning.notes,
      otherEdition,
      changedSinceSaved: saved.changedSinceSaved,
      movedFrom: run.movedFrom,
      relabeled,
      paired: planning.paired,
      ...(await countRecordedMints(planning)),
      async refuseEdited({ onlyMints = false } = {}) {
        if (drop.setId !== null) await refuseRenamedReceivers(run, 'draft', names)
        await refuseEditedRows(planning, onlyMints)
      },
      seen: () => planning.seen.readPages(),
      duplicates: () => findDuplicates(planning),
      changes: () => plannedChanges(run, deps.contents, options.drawnRows),
      rows: () => rowsWithChanges(run),
      burns: () => readBurns(run),
      updates: () => readUpdates(run, deps.contents, options.drawnRows),
    })
  })
}

/** Compares the rows with their NFTs, page by page. Refuses NFTs with another label, unless they are adopted. */
async function comparePages(planning: PlanState): Promise<void> {
  const { run, options, deps, pairs, labels, comparer, vanished, tally } = planning
  const { counts } = tally
  await vanished.begin(run, pairs.knownPairs)
  await labels.begin(pairs.allPairs)
  await run.state.scratch((sql) => createTables(sql, 'changes', 'drifted', 'contents', 'burns', 'named', 'seen'))
  for await (const page of readRowPages(
    run.state,
    (sql, after, limit) => readRowPage(sql, 'draft', after, limit),
    PAGE_SIZE,
  )) {
    await comparePage(planning, page)
    deps.onProgress?.(counts.rows)
  }
  counts.abandoned = comparer.abandonedCount
  counts.unchanged -= counts.abandoned
  await blockHiddenMints(planning)
  labels.refuseUnlessAdopted(options.adoptLabels ?? options.adopt ?? false)
}

/** Returns the data for the notes of a plan. */
async function toNoteFacts(
  { run, options, source, comparer, vanished, paired, tally }: PlanState,
  relabeled: PlanNoteInputs['relabeled'],
): Promise<PlanNoteInputs> {
  const { counts, newUnnamed } = tally
  const { drop } = run
  const { label = null } = options
  const canBurn = vanished.totalCount > 0 && options.prune !== true && source.hasUpdates
  return {
    ...tally,
    relabeled,
    label: label ?? '',
    paired,
    removedRows: {
      count: vanished.totalCount,
      firstNames: vanished.firstNames,
      withoutIdCount: vanished.withoutIdCount,
    },
    addedIds: counts.identified === 0 ? null : { run: comparer.hasIdFromOtherMachine ? null : drop.name },
    isPruning: options.prune === true,
    hasReferences: source.hasReferences,
    hasUpdates: source.hasUpdates,
    noBurns: canBurn ? await options.whyNoBurns() : null,
    isMintedHere: drop.setId !== null,
    mayBeMinted: drop.setId === null && label === null && newUnnamed > 0 && counts.mint < counts.rows,
    isShuffled: drop.reading.shuffle !== undefined || options.sealedSlots !== undefined,
    abandoned: comparer.abandonedCount,
  }
}

/** Counts the mints that are recorded as deployed, and the mints without a recorded final outcome. */
async function countRecordedMints({ run, tally }: PlanState): Promise<Pick<ChangePlan, 'deployed' | 'unsettled'>> {
  const { drop } = run
  const states = drop.setId === null ? [] : await run.read((sql) => countByState(sql, drop.id))
  const countOf = (wantedState: OperationState) => states.find(({ state }) => state === wantedState)?.n ?? 0
  return { deployed: countOf('deployed'), unsettled: countOf('accepted') + tally.mintedUnsettled }
}

/**
 * Refuses new rows that may be edits of sent rows, or repeat sent rows, as `gdn batch mint` does.
 *
 * @param onlyMints whether the NFTs of edited rows keep their content
 */
async function refuseEditedRows(
  { run, options, deps, pairs, seen, vanished, tally }: PlanState,
  onlyMints: boolean,
): Promise<void> {
  const { operations, positions } = pairs.knownPairs
  const ended = new Set([...seen.burnedOperations, ...vanished.renamedOperations])
  const paired = new Map(pairs.renamedPairs.map(({ sent, row }) => [sent, row.key]))
  const checked = { rows: 'draft', pending: tally.mints, paired, ended, updatesEdited: !onlyMints } as const
  await refuseRepeated(run, options, deps.client, checked)
  const kept = await run.state.scratch((sql) => rowsOfKeptContents(sql, onlyMints))
  const existing = kept.map(({ nftGdnId, ...row }) => ({ row: parseStoredRow(row), nftGdnId }))
  await refuseContentsOfOtherRows(run, options, deps.client, { rows: 'draft', pending: tally.mints, existing })
  if (options.newRows === true) return
  await findReplacedOperationIds(run, options, deps.client, {
    rows: 'draft',
    paired: { operations: new Set([...operations, ...ended]), positions },
  })
}

async function findDuplicates({ run, tally }: PlanState): Promise<Duplicates> {
  const minted = new Set(tally.mints)
  return await run.read((sql) => newDuplicates(sql, run.drop, 'draft', (at) => minted.has(at)))
}
