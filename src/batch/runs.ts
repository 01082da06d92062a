import { readdir } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
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
  const family = familyId(identity)
  return {
    stateDir,
    ...identity,
    family,
    id: record.id,
    name: record.name,
    runName: record.run_name,
    generation: record.generation,
    chunkSize: record.chunk_size,
    inOrder: record.in_order,
    startedAt: record.at,
    running: (await lockHolder(lockFolder(stateDir, family))) !== null,
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
  return runs.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || b.generation - a.generation)
}

/**
 * Finds a run by its id, its name, the name given with `--run`, its manifest (path or file name), or the beginning of
 * an id; of several drops of one run, the newest.
 *
 * @throws GdnError `not_found_locally`, also where several runs fit
 */
export async function openRun(stateDir: string, wanted: string): Promise<Run> {
  const runs = await listRuns(stateDir)
  const ways: ((run: Run) => boolean)[] = [
    ({ id, name }) => id === wanted || name === wanted,
    ({ runName }) => runName === wanted,
    ({ runName, manifestPath }) => runName === null && manifestPath !== null && namesFile(wanted, manifestPath),
    ({ id }) => wanted.length >= 4 && id.startsWith(wanted),
  ]
  const fits = ways.map((way) => runs.filter(way)).find((found) => found.length > 0) ?? []
  const [newest] = fits
  if (newest !== undefined && fits.every(({ family }) => family === newest.family)) return newest
  const several = fits.map(({ id, name }) => `${name} (${id})`).join(', ')
  throw new GdnError(
    'not_found_locally',
    newest === undefined ? `there is no run ${wanted} on this machine` : `${wanted} fits several runs: ${several}`,
    { hint: newest === undefined ? 'gdn batch list shows the runs there are' : 'give the id of one' },
  )
}

const namesFile = (wanted: string, path: string): boolean =>
  wanted === basename(path) || wanted === basename(path, extname(path)) || resolve(wanted) === path

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
