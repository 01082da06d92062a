import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { fileError } from '../core/file-error.ts'
import type { BatchOptions, RunInfo, RunRef } from './types.ts'

/** What names a run. Never the key, and never what the manifest holds. */
export type RunIdentity = Pick<BatchOptions, 'origin' | 'blockchain' | 'contractAddress' | 'manifestPath' | 'runName'>

/** A run of this machine, to be looked at. Another process may be working on it. */
export interface Run extends RunInfo {
  stateDir: string
}

const ID_DIGITS = 16
const SHORT_DIGITS = 4

const hash = (parts: readonly (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, ID_DIGITS)

/** What the runs of one command share, whichever generation. */
export function familyId(identity: RunIdentity): string {
  const { origin, blockchain, contractAddress, manifestPath, runName } = identity
  if (runName === undefined && manifestPath === null) {
    throw new GdnError('usage', 'rows from standard input need a name, so that the run can be resumed', {
      place: { flag: '--run' },
      hint: 'add --run NAME',
    })
  }
  const named = runName === undefined ? ['file', manifestPath ?? ''] : ['name', runName]
  return hash([origin, blockchain, contractAddress.toLowerCase(), ...named])
}

/** Id and name of a run: `drop-3f9a` for `drop.csv`. */
export function runRef(identity: RunIdentity, generation: number): RunRef {
  const id = hash([familyId(identity), generation])
  const path = identity.manifestPath ?? ''
  const base = identity.runName ?? basename(path, extname(path))
  const slug = base.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 40) || 'run'
  return { id, name: `${slug}-${id.slice(0, SHORT_DIGITS)}` }
}

export const runsFolder = (stateDir: string): string => join(stateDir, 'runs')
export const journalPath = (stateDir: string, id: string): string => join(runsFolder(stateDir), `${id}.journal`)
export const spoolPath = (stateDir: string, id: string): string => join(runsFolder(stateDir), `${id}.rows`)
export const indexBeside = (spool: string): string => spool.replace(/\.rows$/, '.plan')
export const indexPath = (stateDir: string, id: string): string => indexBeside(spoolPath(stateDir, id))
export const countsPath = (stateDir: string, id: string): string => join(runsFolder(stateDir), `${id}.counts`)
/** The ids that the collection had before the run. */
export const baselinePath = (stateDir: string, id: string): string => join(runsFolder(stateDir), `${id}.known`)
export const lockFolder = (stateDir: string, family: string): string => join(runsFolder(stateDir), `${family}.lock`)

/** The folder of the lock that a process holds while it claims rows of a collection. A backend counts by its ID. */
export const claimFolder = (
  stateDir: string,
  { origin, backend, blockchain, contractAddress }: Pick<BatchOptions, 'backend'> & Omit<RunIdentity, 'manifestPath'>,
): string =>
  join(stateDir, 'claims', `${hash([backend?.id ?? origin, blockchain, contractAddress.toLowerCase()])}.lock`)

export async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}

/** The newest generation of a run that has a journal; 0 where there is none. */
export async function latestGeneration(stateDir: string, identity: RunIdentity): Promise<number> {
  let generation = 0
  while (await fileExists(journalPath(stateDir, runRef(identity, generation + 1).id))) generation++
  return generation
}

/** What the drop after a run's is called. */
export function laterDrop({ origin, blockchain, contractAddress, manifestPath, runName, generation }: Run): RunRef {
  const identity = { origin, blockchain, contractAddress, manifestPath, ...(runName === null ? {} : { runName }) }
  return runRef(identity, generation + 1)
}

export const hasLaterDrop = (run: Run): Promise<boolean> => fileExists(journalPath(run.stateDir, laterDrop(run).id))

/** What a system call on the state directory failed with, as an error that says what to do. */
function stateError(stateDir: string, error: unknown): unknown {
  const code = systemCode(error)
  if (error instanceof GdnError || code === undefined) return error
  const full = code === 'ENOSPC' || code === 'EDQUOT'
  const message = full
    ? `no space left in the state directory ${stateDir}`
    : `can't use the state directory ${stateDir}: ${fileError(error)?.message ?? messageOf(error)}`
  return new GdnError('data_dir', message, {
    hint: `${full ? 'make room' : 'put that right'}, or choose another folder with --state-dir or GDN_STATE_DIR`,
    cause: error,
  })
}

/** Does something with the files of a state directory; what the system refuses is told as `data_dir`. */
export async function withState<Value>(stateDir: string, act: () => Promise<Value>): Promise<Value> {
  try {
    return await act()
  } catch (error) {
    throw stateError(stateDir, error)
  }
}
