import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { env, kill, pid as ownPid, platform } from 'node:process'
import { promisify } from 'node:util'
import { childEnvironment } from './child-environment.ts'
import { systemCode } from './errors.ts'

/**
 * Identifies a process. The start time and boot ID distinguish it from a later process with the same PID. They are null
 * if unknown.
 */
export interface ProcessIdentity {
  pid: number
  startedAt: string | null
  bootId: string | null
}

/** A running process. The start time and command line distinguish it from a later process with the same PID. */
export interface RunningProcess {
  /** Start time in the operating system's format. Compare it only with start times from the same machine. */
  startedAt: string
  command: string
}

/** Returns the identity of this process, so that other processes can check whether it is alive. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: ownPid, startedAt: (await processStart(ownPid)).startedAt, bootId: await bootId() }
}

/** Returns whether exactly this process is still running. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!exists(identity.pid) || identity.bootId !== (await bootId())) return false
  const { startedAt, isZombie } = await processStart(identity.pid)
  return !isZombie && startedAt === identity.startedAt
}

/** Returns whether a signal has stopped a process, for example after Ctrl-Z. Returns false if unknown. */
export function isStopped(pid: number): boolean {
  try {
    if (platform === 'win32') return false
    return platform === 'linux'
      ? readStat(pid).isStopped
      : run('ps', ['-o', 'state=', '-p', String(pid)], PS_ENVIRONMENT)
          .trim()
          .startsWith('T')
  } catch {
    return false
  }
}

/**
 * Returns the running process with a PID; null if there is none. The function is synchronous, so that the pidfile of a
 * child process can be written before anything else happens.
 */
export function findProcess(pid: number): RunningProcess | null {
  try {
    if (platform === 'win32') return fromPowershell(pid)
    if (platform !== 'linux') return fromPs(runPs(pid))
    const { startedAt, isZombie } = readStat(pid)
    if (isZombie || startedAt === null) return null
    return { startedAt, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
  } catch {
    return null
  }
}

/** Returns the ID of the machine's current boot; null if unknown. */
export async function bootId(): Promise<string | null> {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}

/**
 * Returns the namespace in which PIDs are unique; null if the system has no PID namespaces. Each container has its own
 * namespace.
 */
export async function pidNamespace(): Promise<string | null> {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return null
  }
}

function exists(pid: number): boolean {
  try {
    kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

interface ProcessStart {
  /** Start time of the process. Null if the process doesn't exist or its start time is unknown. */
  startedAt: string | null
  isZombie: boolean
}

/**
 * Reads the start time of a process. On Windows, the start time is unknown, because reading it with PowerShell would
 * take a second.
 */
async function processStart(pid: number): Promise<ProcessStart> {
  const unknown = { startedAt: null, isZombie: false }
  try {
    if (platform === 'linux') return readStat(pid)
    if (platform === 'win32') return unknown
    const { stdout } = await promisify(execFile)('ps', psArguments(pid), { env: PS_ENVIRONMENT })
    return { startedAt: fromPs(stdout)?.startedAt ?? null, isZombie: false }
  } catch {
    return unknown
  }
}

/**
 * Reads the start time and the state of a process from `/proc`.
 *
 * @throws if there is no such process
 */
function readStat(pid: number): ProcessStart & { isStopped: boolean } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The command is in parentheses and may itself contain spaces and parentheses. The fields follow the last
  // parenthesis.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    startedAt: fields[18] ?? null,
    isZombie: state === 'Z' || state === 'X',
    isStopped: state === 'T' || state === 't',
  }
}

const PS_ENVIRONMENT = { PATH: '/bin:/usr/bin', LC_ALL: 'C' }
const psArguments = (pid: number) => ['-ww', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)]
const runPs = (pid: number) => run('ps', psArguments(pid), PS_ENVIRONMENT)

function fromPs(output: string): RunningProcess | null {
  const line = output.trim()
  // lstart always has the form "Fri Nov 20 04:22:13 2026".
  return line.length <= 24 ? null : { startedAt: line.slice(0, 24), command: line.slice(24).trim() }
}

function fromPowershell(pid: number): RunningProcess | null {
  const query = `Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}' | ForEach-Object { "$($_.CreationDate.Ticks) $($_.CommandLine)" }`
  const line = run('powershell', ['-NoProfile', '-NonInteractive', '-Command', query], childEnvironment(env)).trim()
  const space = line.indexOf(' ')
  return space < 0 ? null : { startedAt: line.slice(0, space), command: line.slice(space + 1) }
}

function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 10_000,
    env: environment,
  })
}
