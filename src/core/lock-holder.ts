import { hostname } from 'node:os'
import { GdnError } from './errors.ts'
import { bootId, isAlive, isStopped, ownIdentity, type ProcessIdentity, pidNamespace } from './process-identity.ts'

export interface LockHolder extends ProcessIdentity {
  /** The PID namespace of the process. The PID is only meaningful in this namespace on this host. */
  space: string | null
  host: string | null
  note: string
  /** Time when the holder acquired the lock, according to the holder's clock; null if unknown. */
  since: string | null
}

/**
 * The interval of a lock holder's heartbeats, and the timeouts after which a holder without heartbeats is assumed to
 * have ended.
 */
export interface LockTiming {
  beatMs: number
  /** Time in milliseconds without a heartbeat after which a holder that can't be inspected is assumed to have ended. */
  silentMs: number
  /**
   * Time in milliseconds for which such a holder is also watched for a new heartbeat. A heartbeat proves that the
   * holder is alive, even if the clocks of the machines differ.
   */
  watchMs: number
}

/**
 * `silentMs` is 2 minutes, because an active process on a running machine doesn't pause for that long. A process on a
 * sleeping machine does pause for that long, so its old fencing token is rejected when the machine wakes up.
 */
export const LOCK_TIMING: LockTiming = { beatMs: 5_000, silentMs: 120_000, watchMs: 12_000 }

export async function thisProcess(note: string): Promise<LockHolder> {
  const [identity, space] = await Promise.all([ownIdentity(), pidNamespace()])
  const since = new Date().toISOString()
  return { ...identity, space, host: hostname(), note, since }
}

/** Parses a lock holder from JSON. Returns null if the text isn't a complete holder. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder>
    if (typeof holder.pid !== 'number' || typeof holder.note !== 'string') return null
    const { pid, note, startedAt = null, bootId: boot = null, space = null, host = null, since = null } = holder
    return { pid, note, startedAt, bootId: boot, space, host, since }
  } catch {
    return null
  }
}

/**
 * The state of a lock holder. A PID is only meaningful within its boot and namespace. A `remote` holder has a different
 * boot or namespace. For example, it runs in a container, or on another machine that shares the directory. Only
 * heartbeats prove that such a holder is alive. `patienceMs` is the maximum time that it may go without a heartbeat.
 */
export type HolderState = { kind: 'alive' } | { kind: 'ended' } | { kind: 'remote'; patienceMs: number }

export async function inspectHolder(holder: LockHolder, timing: LockTiming): Promise<HolderState> {
  const [boot, space] = await Promise.all([bootId(), pidNamespace()])
  const isHere = holder.host === hostname()
  const isSameBoot = holder.bootId === boot && (boot !== null || isHere)
  if (isSameBoot && holder.space === space) return (await isAlive(holder)) ? { kind: 'alive' } : { kind: 'ended' }
  // A different boot with the same host name is treated as an earlier boot of this machine. If the holder is on another
  // machine, its next heartbeat proves that it is alive.
  const wasRestarted = isHere && holder.bootId !== null && boot !== null && !isSameBoot
  return { kind: 'remote', patienceMs: wasRestarted ? 0 : timing.silentMs }
}

/** Returns whether the holder of a run seems to be active. For a remote holder, the result is only an estimate. */
export async function seemsActive(holder: LockHolder, beatAt: number): Promise<boolean> {
  const state = await inspectHolder(holder, LOCK_TIMING)
  return state.kind === 'remote' ? Math.abs(Date.now() - beatAt) < state.patienceMs : state.kind === 'alive'
}

/**
 * Returns the error for a run that a process on this machine holds.
 *
 * @param subject the subject of the process's work, for the message
 */
export function activeHolderError({ pid, note }: LockHolder, subject = 'this run'): GdnError {
  // A stopped process doesn't handle Ctrl-C or SIGTERM until it continues.
  const stopped = isStopped(pid)
  const message = `another gdn process is working on ${subject}${stopped ? ', but is suspended' : ''}: pid ${pid} (${note})`
  return new GdnError('run_busy', message, {
    hint: stopped
      ? `Run \`kill -CONT ${pid}\` to continue the process, or \`kill -KILL ${pid}\` to end it.`
      : WAIT_HINT,
    details: { pid, note },
  })
}

const WAIT_HINT = 'Wait until the process ends, or press Ctrl-C in its terminal.'

const sinceText = ({ since }: LockHolder): string => (since === null ? '' : ` since ${since.replace(/\.\d+Z$/, 'Z')}`)

const formatRemoteProcess = ({ pid, host }: LockHolder): string =>
  `pid ${pid} on another machine or in another container${host === null ? '' : `, ${host}`}`

/**
 * Returns the error for a run that a remote process holds.
 *
 * @param leftMs time until the holder counts as ended if it writes no heartbeat; null if it just wrote one
 */
export function remoteHolderError(holder: LockHolder, leftMs: number | null, subject = 'this run'): GdnError {
  const { pid, note, host, since } = holder
  const hint =
    leftMs === null
      ? WAIT_HINT
      : `Stop that process, or wait. If it has already ended, run the same command again in ${Math.ceil(leftMs / 1000)} s.`
  return new GdnError(
    'run_busy',
    `another gdn process is working on ${subject}${sinceText(holder)}: ${formatRemoteProcess(holder)} (${note})`,
    {
      hint,
      details: { pid, note, host, since },
    },
  )
}

export const takenOverError = (): GdnError =>
  new GdnError('run_busy', 'this process was suspended for too long, and another process took over the run', {
    hint: 'This process sent nothing more. Once the other process has ended, run the same command again to resume.',
  })
