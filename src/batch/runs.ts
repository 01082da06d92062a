import { readdir } from 'node:fs/promises'
import { GdnError, systemCode } from '../core/errors.ts'
import { lockHolder } from '../core/process-lock.ts'
import { RecordFile, readHeader } from './journal/read.ts'
import type { RunRecord } from './journal/records.ts'
import { loadLedger } from './open-ledger.ts'
import { resultRows } from './results.ts'
import { familyId, journalPath, lockFolder, runsFolder, spoolPath } from './run-files.ts'
import { readSpool } from './spool.ts'
import type { ResultRow, RowCounts, RunInfo, RunStatus } from './types.ts'

/** A run of this machine, to be looked at. Another process may be working on it. */
export interface Run extends RunInfo {
  stateDir: string
}

const NO_COUNTS: RowCounts = { total: 0, pending: 0, unknown: 0, accepted: 0, deployed: 0, failed: 0 }

async function toRun(stateDir: string, record: RunRecord): Promise<Run> {
  const identity = {
    origin: record.origin,
    blockchain: record.blockchain,
    contractAddress: record.contract,
    manifestPath: record.manifest,
    ...(record.run_name === null ? {} : { runName: record.run_name }),
  }
  return {
    stateDir,
    ...identity,
    id: record.id,
    name: record.name,
    runName: record.run_name,
    generation: record.generation,
    chunkSize: record.chunk_size,
    inOrder: record.in_order,
    startedAt: record.at,
    running: (await lockHolder(lockFolder(stateDir, familyId(identity)))) !== null,
  }
}

/** The runs of a state directory, newest first. Files that aren't journals of ours are left out. */
export async function listRuns(stateDir: string): Promise<Run[]> {
  const names = await readdir(runsFolder(stateDir)).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  const runs: Run[] = []
  for (const name of names) {
    const id = /^([0-9a-f]{16})\.journal$/.exec(name)?.[1]
    const header = id === undefined ? null : await readHeader(journalPath(stateDir, id))
    if (header !== null) runs.push(await toRun(stateDir, header))
  }
  return runs.sort((a, b) => (a.startedAt < b.startedAt ? 1 : a.startedAt > b.startedAt ? -1 : 0))
}

/**
 * Finds a run by its id, its name, the name given with `--run` (its newest generation), or the beginning of an id.
 *
 * @throws GdnError `not_found_locally`, also where several runs fit
 */
export async function openRun(stateDir: string, nameOrId: string): Promise<Run> {
  const runs = await listRuns(stateDir)
  const exact = runs.filter(({ id, name }) => id === nameOrId || name === nameOrId)
  const named = runs.filter(({ runName }) => runName === nameOrId)
  const begun = nameOrId.length >= 4 ? runs.filter(({ id }) => id.startsWith(nameOrId)) : []
  const fits = [exact, newestOf(named), begun].find((list) => list.length > 0) ?? []
  const [run] = fits
  if (run !== undefined && fits.length === 1) return run
  const several = fits.map(({ id, name }) => `${name} (${id})`).join(', ')
  throw new GdnError(
    'not_found_locally',
    run === undefined ? `there is no run ${nameOrId} on this machine` : `${nameOrId} fits several runs: ${several}`,
    { hint: run === undefined ? 'gdn batch list shows the runs there are' : 'give the id of one' },
  )
}

/** Generations of one run are one choice; runs of different collections stay a choice to be made. */
function newestOf(runs: Run[]): Run[] {
  const [newest] = runs
  if (newest === undefined) return []
  const isSame = (run: Run) =>
    run.origin === newest.origin &&
    run.blockchain === newest.blockchain &&
    run.contractAddress.toLowerCase() === newest.contractAddress.toLowerCase()
  return runs.every(isSame) ? [newest] : runs
}

/** The rows of a run by state, also while a process works on it. A journal that can't be read is told, not thrown. */
export async function runStatus({ stateDir, ...info }: Run): Promise<RunStatus> {
  try {
    const { ledger } = await loadLedger(journalPath(stateDir, info.id))
    return { ...info, counts: ledger.counts(info.running), problem: null }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { ...info, counts: NO_COUNTS, problem: error.message }
  }
}

/** A row each, in the manifest's order, also while a process works on the run. */
export async function* runResults({ stateDir, id, running }: Run): AsyncGenerator<ResultRow> {
  const path = journalPath(stateDir, id)
  const { run, ledger } = await loadLedger(path)
  const records = await RecordFile.open(path)
  try {
    yield* resultRows(run, ledger, records, readSpool(spoolPath(stateDir, id)), running)
  } finally {
    await records.close()
  }
}
