import { GdnError } from '../core/errors.ts'
import { acquireLock, type Lock } from '../core/process-lock.ts'
import { sleep } from '../core/time.ts'
import { type Copies, copiesOf, rowsWithCopies } from './copied-rows.ts'
import { addedRows, refuseEdited } from './edited-rows.ts'
import type { Found } from './find-run.ts'
import { keptIndex } from './gather.ts'
import type { RunRecord } from './journal/records.ts'
import { KEY_WORDS } from './key-table.ts'
import type { Ledger } from './ledger.ts'
import { IdSet } from './reconcile/id-set.ts'
import { type Others, readOthers } from './reconcile/known-ids.ts'
import { rowKey, shownKey } from './row-key.ts'
import { ROW } from './row-table.ts'
import { interruption } from './run-context.ts'
import { claimFolder, spoolPath, withState } from './run-files.ts'
import { readSpool, type SpooledRow } from './spool.ts'
import type { BatchDeps, BatchOptions } from './types.ts'

export const MAX_NAMED = 50

/** Claiming takes as long as writing the rows of a manifest. Whoever holds the lock for longer is stuck or stopped. */
const CLAIM_WAIT_MS = 30_000
const CLAIM_POLL_MS = 50
/** Keys looked up together; see `WordTable.warm`. */
const WARMED = 512

/**
 * Acquires the lock under which the rows of one server and collection are claimed, among all processes that share the
 * state directory. It is held while the other runs are checked and this run's rows and journal are written, and
 * released before anything is sent. So runs with different rows send in parallel.
 *
 * @throws GdnError `run_busy` where another process holds it for longer than 30 s
 */
export async function acquireClaim(
  options: BatchOptions,
  { now = () => performance.now(), sleep: pause = sleep, onEvent }: BatchDeps,
): Promise<Lock> {
  const { stateDir, signal } = options
  const folder = claimFolder(stateDir, options)
  const deadline = now() + CLAIM_WAIT_MS
  for (let isTold = false; ; isTold = true) {
    try {
      return await withState(stateDir, () => acquireLock(folder, `claiming rows of ${options.contractAddress}`))
    } catch (error) {
      if (!(error instanceof GdnError) || error.code !== 'run_busy') throw error
      if (now() >= deadline) throw error
      if (!isTold) onEvent?.({ type: 'holding', reason: 'claim', ms: CLAIM_WAIT_MS, message: error.message })
    }
    try {
      await pause(CLAIM_POLL_MS, signal)
    } catch (error) {
      throw signal?.aborted === true ? interruption(signal.reason) : error
    }
  }
}

/**
 * Reads the other runs of the collection, and stops where one of them has a row that this run would send: sent by it,
 * or planned and not sent yet. To be called under the claim, or the answer may be outdated.
 *
 * @param path where the rows of the manifest are; those that are pending in the run's ledger are checked
 * @throws GdnError `already_accepted`; `data_dir` where a journal of another run can't be read
 */
export async function readOtherRuns(
  options: BatchOptions,
  deps: Pick<BatchDeps, 'elsewhere'>,
  found: Found,
  path: string,
): Promise<Others> {
  const { run, ledger, journal } = found
  const rows = () => readSpool(path)
  const taken: Taken = { rows: [], keys: new IdSet(), runs: new Set() }
  const isPending = ({ key }: SpooledRow) => ledger.state(ledger.rows.find(key)) === ROW.pending
  const isUnchanged = path === spoolPath(options.stateDir, run.id)
  let isAdded: typeof isPending | null = null
  let own: Copies | null = null
  const others = await readOthers(options, run.id, deps, async (other, known) => {
    if (options.again === true || options.reconcileOnly === true) return
    let isChecked = isPending
    if (journal !== null && (run.again === true || other.again === true)) {
      // A second order repeats rows on purpose, and does not revoke the claim of the first. Rows added since are checked.
      if (isUnchanged) return
      isAdded ??= await addedRows(options, found)
      isChecked = isAdded
    }
    if (!(await enterPlanned(options.stateDir, other, known))) return
    const before = taken.keys.size
    if (isChecked !== isPending || mayShareRows(ledger, known)) await findTaken(taken, other, known, rows, isChecked)
    // Shared rows show that both manifests are one, under whatever path or name.
    if (journal === null && taken.keys.size > before && options.newRows !== true) {
      await refuseEdited({ ledger: known, id: other.id, name: other.name }, options, rows)
    }
    if (taken.keys.size === before && ledger.counts().pending > 0) {
      own ??= await copiesOf(rows, isPending)
      const copied = { path: spoolPath(options.stateDir, other.id), ledger: known }
      for (const row of await rowsWithCopies(own, copied, rows)) if (isChecked(row)) addTaken(taken, row, other)
    }
  })
  if (taken.keys.size > 0) throw alreadyAccepted(taken, journal === null)
  const claims = options.again !== true && options.reconcileOnly !== true && !(journal !== null && isUnchanged)
  if (claims && others.unreadable !== null) throw unreadableRun(others.unreadable)
  return others
}

function unreadableRun(path: string): GdnError {
  return new GdnError('data_dir', `the journal of another run cannot be read: ${path}`, {
    hint: [
      'Nothing was sent. Rows of this manifest may be minted by that run already.',
      'If a newer gdn wrote it, use that version. If it is damaged, restore it from a backup.',
      'To go on without it, move the file to another folder.',
    ].join('\n'),
  })
}

interface Taken {
  rows: { key: string; line: number; run: string }[]
  /** A row that several runs have is one row. */
  keys: IdSet
  runs: Set<string>
}

/** Enters the rows that a run has planned and not sent into its ledger. Returns whether it has any row to compare. */
async function enterPlanned(stateDir: string, { id }: RunRecord, ledger: Ledger): Promise<boolean> {
  if (ledger.counts().pending === 0 && ledger.plannedRows > 0) return ledger.rows.size > 0
  const index = await keptIndex(stateDir, id)
  if (index !== null) {
    for (let line = 0; line < index.rows; line++) {
      const start = line * KEY_WORDS
      if (line % WARMED === 0) ledger.rows.warm(index.words.subarray(start, start + WARMED * KEY_WORDS))
      ledger.rows.enterKept(index.words, start, index.line[line] ?? 0, index.content[line] ?? 0)
    }
    return true
  }
  try {
    for await (const { key, row, content } of readSpool(spoolPath(stateDir, id)))
      ledger.rows.enter(key, row.line, content)
  } catch (error) {
    // Without its rows it cannot be resumed. Minted from its manifest again, it is checked as this run is.
    if (!(error instanceof GdnError) || error.code !== 'data_dir') throw error
  }
  return true
}

/** Whether another run may have claimed a pending row. Compares what the tables keep of the keys: no row is read. */
function mayShareRows(own: Ledger, known: Ledger): boolean {
  const words = new Uint32Array(WARMED * KEY_WORDS)
  const key = new Uint32Array(KEY_WORDS)
  for (let row = 0; row < own.rows.size; row++) {
    const place = row % WARMED
    if (place === 0) {
      own.rows.copyRange(row, Math.min(WARMED, own.rows.size - row), words)
      known.rows.warm(words)
    }
    if (own.state(row) !== ROW.pending) continue
    for (let word = 0; word < KEY_WORDS; word++) key[word] = words[place * KEY_WORDS + word] ?? 0
    const index = known.rows.findWords(key)
    if (index >= 0 && known.isClaimed(index)) return true
  }
  // A row that has an id by now may have been sent without one. Only the rows tell their content.
  return own.rows.countIds() > 0 && known.rows.countIds() < known.rows.size
}

async function findTaken(
  taken: Taken,
  other: RunRecord,
  known: Ledger,
  rows: () => AsyncIterable<SpooledRow>,
  isChecked: (row: SpooledRow) => boolean,
): Promise<void> {
  for await (const spooled of rows()) {
    const { key, row, content } = spooled
    const named = known.rows.find(key)
    // The other run may have sent it before it got an id.
    const index = named >= 0 || row.id === null ? named : known.rows.find(rowKey(null, content))
    if (index < 0 || !known.isClaimed(index) || !isChecked(spooled)) continue
    addTaken(taken, spooled, other)
  }
}

function addTaken(taken: Taken, { key, row }: SpooledRow, { name }: RunRecord): void {
  taken.runs.add(name)
  if (taken.keys.add(key) && taken.rows.length < MAX_NAMED) {
    taken.rows.push({ key: shownKey(key), line: row.line, run: name })
  }
}

function alreadyAccepted({ rows, keys: { size: count }, runs }: Taken, isNew: boolean): GdnError {
  const [run = ''] = runs
  const many = count === 1 ? '1 row of the manifest belongs' : `${count} rows of the manifest belong`
  return new GdnError('already_accepted', `${many} to another run of this collection: ${[...runs].join(', ')}`, {
    hint: [
      `Nothing was sent. Show that run with gdn batch status ${run}, and finish it with gdn batch resume ${run}.`,
      `If nothing of it was sent, you can remove it with gdn batch rm ${run}.`,
      'Rows are the same if their IDs are the same or, without IDs, their content.',
      isNew
        ? 'To mint them a second time, add --again.'
        : 'To send the other rows, remove these from the manifest and run gdn batch mint.',
    ].join('\n'),
    details: { rows, count },
  })
}
