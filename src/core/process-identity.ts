import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { env, kill, pid as ownPid, platform } from 'node:process'
import { promisify } from 'node:util'
import { childEnvironment } from './child-environment.ts'
import { systemCode } from './errors.ts'

/** A process, told from a later one with the same pid by its start time and the boot. Null where there is no way to tell. */
export interface ProcessIdentity {
  pid: number
  startedAt: string | null
  bootId: string | null
}

/** A running process, told from a later one with the same pid by its start time and its command line. */
export interface RunningProcess {
  /** In the system's own form; only compared with another of the same machine. */
  startedAt: string
  command: string
}

/** This process, as another one can look for it later. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: ownPid, startedAt: (await processStart(ownPid)).startedAt, bootId: await bootId() }
}

/** Whether the very process still runs. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!exists(identity.pid) || identity.bootId !== (await bootId())) return false
  const { startedAt, isZombie } = await processStart(identity.pid)
  return !isZombie && startedAt === identity.startedAt
}

/**
 * The running process with a pid, null when there is none. Synchronous, so that a child's pidfile can be written before
 * anything else happens once it is spawned.
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

/** Tells one boot of the machine from the next; null where there is no way to tell. */
export async function bootId(): Promise<string | null> {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}

/** Within which set of processes a pid means something: containers have their own. Null where there is only one. */
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
  /** Null where there is no such process, or no way to tell. */
  startedAt: string | null
  isZombie: boolean
}

/** When a process began. Windows is not asked: PowerShell takes a second. */
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

/** From Linux. @throws where there is no such process */
function readStat(pid: number): ProcessStart {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The command in parentheses may hold spaces and parentheses: count the fields from the last one on.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { startedAt: fields[18] ?? null, isZombie: state === 'Z' || state === 'X' }
}

const PS_ENVIRONMENT = { PATH: '/bin:/usr/bin', LC_ALL: 'C' }
const psArguments = (pid: number) => ['-ww', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)]
const runPs = (pid: number) => run('ps', psArguments(pid), PS_ENVIRONMENT)

function fromPs(output: string): RunningProcess | null {
  const line = output.trim()
  // lstart is always of the form "Fri Nov 20 04:22:13 2026".
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
