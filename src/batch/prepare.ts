import { refuseSilentBackend } from '../client/backend.ts'
import type { Lock } from '../core/process-lock.ts'
import { type Before, lookBefore } from './before.ts'
import { type Edits, findEdits } from './edited-rows.ts'
import { type Found, findRun, refuseFinished } from './find-run.ts'
import { type Gathered, gather, gatherAgain } from './gather.ts'
import { encodeRecord, type FoundRecord } from './journal/records.ts'
import { meetBackend } from './meet-backend.ts'
import { withState } from './run-files.ts'
import type { BatchOptions, CheckDeps, PlannedEvent } from './types.ts'

/** A run that passed every check that is made before rows are claimed. */
export interface Prepared {
  found: Found
  gathered: Gathered
  before: Before
  edits: Edits
  planned: PlannedEvent
}

interface Place {
  /** The run's lock; null for a dry run, which writes nothing to the state directory. */
  lock: Lock | null
  /** The folder for rows that are not the run's yet. */
  drafts: string
}

/**
 * Reads and plans the rows, and makes every check of a start: the backend, edits of the manifest, other runs, and what
 * the collection holds. A dry run and a real one both go through here, so that they come to the same verdict.
 *
 * @throws GdnError as `runBatch`
 */
export async function prepare(options: BatchOptions, deps: CheckDeps, { lock, drafts }: Place): Promise<Prepared> {
  const { stateDir } = options
  const { found, restored, notes } = await meetBackend(options, deps, await findRun(options), lock)
  const { run, ledger, journal } = found
  const sends = options.reconcileOnly !== true
  let gathered = await gather(deps, found, options, drafts)
  try {
    if (options.backend !== undefined && deps.client !== null) refuseSilentBackend(options.backend)
    if (journal !== null && sends && options.settle === undefined && !restored) refuseFinished(found)
    const given = gathered
    const edits = sends
      ? await withState(stateDir, () => findEdits(options, found, given))
      : { renamed: [], replaced: [] }
    const entered: FoundRecord[] = []
    const planRest = async (records: readonly FoundRecord[]) => {
      enter(records, found, entered)
      entered.push(...records)
      // What changed is known from the first reading: now the ledger has all rows.
      gathered = { ...(await gatherAgain(gathered, found, options, drafts)), changes: gathered.changes }
    }
    if (edits.renamed.length > 0) await planRest(edits.renamed)
    const { path } = gathered
    const before = await withState(stateDir, () => lookBefore(options, deps, found, path))
    before.notes.push(...notes)
    if (lock !== null && lock.followed !== null) before.notes.push(lock.followed)
    if (before.adopted.length > 0) await planRest(before.adopted)
    const { plan, changes } = gathered
    const planned: PlannedEvent = {
      type: 'planned',
      run: { id: run.id, name: run.name },
      resumed: journal !== null,
      rows: ledger.counts(),
      requests: plan.requests,
      receivers: plan.receivers,
      reordered: plan.reordered,
      files: plan.withFiles.length,
      changes,
      notes: before.notes,
    }
    return { found, gathered, before, edits, planned }
  } catch (error) {
    await gathered.discard()
    throw error
  }
}

/** Enters rows that were found to be minted into the ledger: their records are the next of the journal after others. */
function enter(records: readonly FoundRecord[], { run, ledger, journal }: Found, after: readonly FoundRecord[]): void {
  let offset = journal === null ? encodeRecord(run).length : journal.end + (journal.lacksLineEnd ? 1 : 0)
  for (const record of after) offset += encodeRecord(record).length
  for (const record of records) {
    const { length } = encodeRecord(record)
    ledger.apply(record, { offset, length: length - 1 })
    offset += length
  }
}
