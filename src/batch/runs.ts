import { open, readdir } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { GdnError, systemCode } from '../core/errors.ts'
import { lockHolder } from '../core/process-lock.ts'
import { readHeader, readJournal } from './journal/read.ts'
import { decodeRecord, JOURNAL_VERSION, type RunRecord } from './journal/records.ts'
import { countRows } from './run-counts.ts'
import { familyId, hasLaterDrop, journalPath, lockFolder, type Run, runsFolder } from './run-files.ts'
import type { RowCounts, RunStatus } from './types.ts'

export { runResults } from './run-rows.ts'
export type { Run }

/** A server by which runs are chosen. */
export interface ServerOfRuns {
  /** As messages call it. */
  name: string
  has(run: Pick<Run, 'origin' | 'url' | 'backendId'>): boolean
}

/** A journal of which not even the beginning can be read. */
export interface DamagedRun {
  id: string
  problem: string
}

const NO_COUNTS: RowCounts = { total: 0, pending: 0, unknown: 0, accepted: 0, deployed: 0, failed: 0 }

/** Files looked at together. */
const AT_ONCE = 16
/** Enough for every header; a longer one is read by lines. */
const HEADER_BYTES = 4096
const NEWLINE = 10

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
    url: record.url ?? null,
    backendId: record.backend ?? null,
    family,
    id: record.id,
    name: record.name,
    runName: record.run_name,
    generation: record.generation,
    chunkSize: record.chunk_size,
    inOrder: record.in_order,
    startedAt: record.at,
    reading: record.reading ?? {},
    running: (await lockHolder(lockFolder(stateDir, family))) !== null,
  }
}

/** The runs of a state directory, newest first, and the journals that tell nothing of theirs. */
export async function findRuns(stateDir: string): Promise<{ runs: Run[]; damaged: DamagedRun[] }> {
  const names = await readdir(runsFolder(stateDir)).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  const ids = names.flatMap((name) => /^([0-9a-f]{16})\.journal$/.exec(name)?.[1] ?? [])
  const runs: Run[] = []
  const damaged: DamagedRun[] = []
  await eachOf(ids, async (id) => {
    const path = journalPath(stateDir, id)
    const header = (await quickHeader(path)) ?? (await readHeader(path))
    if (header !== null) {
      runs.push(await toRun(stateDir, header))
      return
    }
    const problem = await headerProblem(path)
    if (problem !== null) damaged.push({ id, problem })
  })
  runs.sort((a, b) => b.startedAt.localeCompare(a.startedAt) || b.generation - a.generation || a.id.localeCompare(b.id))
  return { runs, damaged: damaged.sort((a, b) => a.id.localeCompare(b.id)) }
}

/** The runs of a state directory, newest first. Files that aren't journals of ours are left out. */
export async function listRuns(stateDir: string): Promise<Run[]> {
  return (await findRuns(stateDir)).runs
}

/** Does something with each, several at a time. */
export async function eachOf<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  const work = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work))
}

/** The header where it lies within the first bytes: a list of many runs reads no more of each. */
async function quickHeader(path: string): Promise<RunRecord | null> {
  try {
    const file = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(HEADER_BYTES), 0, HEADER_BYTES, 0)
      const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE)
      const record = end < 0 ? null : decodeRecord(buffer.subarray(0, end))
      return record?.t === 'run' && record.v <= JOURNAL_VERSION ? record : null
    } finally {
      await file.close()
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Why the header of a journal can't be read; null where the file vanished meanwhile. */
async function headerProblem(path: string): Promise<string | null> {
  try {
    await readJournal(path, () => {})
    return 'the journal can’t be read'
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    if (error instanceof GdnError) return error.message
    throw error
  }
}

/**
 * Finds a run by its id, its name, the name given with `--run`, its manifest (path or file name), or the beginning of
 * an id; of several drops of one run, the newest.
 *
 * @param server whose runs are meant; any server's otherwise
 * @throws GdnError `not_found_locally`, also where several runs fit
 */
export async function openRun(stateDir: string, wanted: string, server?: ServerOfRuns): Promise<Run> {
  const all = await listRuns(stateDir)
  const runs = server === undefined ? all : all.filter((run) => server.has(run))
  const ways: ((run: Run) => boolean)[] = [
    ({ id, name }) => id === wanted || name === wanted,
    ({ runName }) => runName === wanted,
    ({ runName, manifestPath }) => runName === null && manifestPath !== null && namesFile(wanted, manifestPath),
    ({ id }) => wanted.length >= 4 && id.startsWith(wanted),
  ]
  const fits = ways.map((way) => runs.filter(way)).find((found) => found.length > 0) ?? []
  const [newest] = fits
  if (newest === undefined) throw noSuchRun(wanted, server)
  const families = new Set(fits.map(({ family }) => family))
  if (families.size === 1) return newest
  throw new GdnError('not_found_locally', `${wanted} fits several runs:\n${fits.map(inALine).join('\n')}`, {
    hint: `say which by its id, such as ${newest.id}; or by its server, with --local or --base-url`,
    details: { runs: fits.map((run) => ({ run: run.name, run_id: run.id, server: serverOf(run) })) },
  })
}

/** Where the server of a run was, as people know it. */
export const serverOf = ({ url, origin }: Pick<Run, 'url' | 'origin'>): string => url ?? origin

const MANIFEST = /\.(csv|tsv|json|jsonl|ndjson)$/i
const LISTED = 'gdn batch list shows the runs there are'

const noSuchRun = (wanted: string, server: ServerOfRuns | undefined) =>
  new GdnError(
    'not_found_locally',
    `there is no run ${wanted} on this machine${server === undefined ? '' : ` that belongs to ${server.name}`}`,
    {
      hint: MANIFEST.test(wanted)
        ? `${LISTED}\ngdn batch mint begins one; with --adopt it takes what is minted already, where a journal was lost`
        : LISTED,
    },
  )

/** A run by everything that tells it from others of like name. */
function inALine({ id, name, url, origin, blockchain, contractAddress, startedAt, generation }: Run): string {
  const drop = generation === 1 ? '' : `, drop ${generation}`
  return `${id}  ${name}  ${startedAt.slice(0, 16).replace('T', ' ')}${drop}, ${contractAddress} on ${blockchain}, ${serverOf({ url, origin })}`
}

const namesFile = (wanted: string, path: string): boolean =>
  wanted === basename(path) || wanted === basename(path, extname(path)) || resolve(wanted) === path

/** The rows of a run by state, also while a process works on it. A journal that can't be read is told, not thrown. */
export async function runStatus({ stateDir, ...info }: Run): Promise<RunStatus> {
  try {
    const counts = await countRows(stateDir, info.id, info.running)
    const isDone = counts.pending + counts.accepted + counts.unknown === 0
    // The drops of a run share a lock: at work is the last one, unless an earlier one has something left to do.
    const running = info.running && !(isDone && (await hasLaterDrop({ ...info, stateDir })))
    return { ...info, running, counts, problem: null }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { ...info, counts: NO_COUNTS, problem: error.message }
  }
}
