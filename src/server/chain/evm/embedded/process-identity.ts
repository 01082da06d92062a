import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'
import { env as ownEnvironment } from 'node:process'
import { childEnvironment } from '../../../../core/child-environment.ts'

/** What tells one process from another that was later given the same pid. */
export interface ProcessIdentity {
  /** In the system's own form; only compared with another of the same machine. */
  startedAt: string
  command: string
}

/**
 * The identity of a running process, null when there is none with this pid. Synchronous, so that a child's pidfile can
 * be written in the same breath as it is spawned.
 */
export function identifyProcess(pid: number): ProcessIdentity | null {
  try {
    if (platform() === 'linux') return fromProc(pid)
    return platform() === 'win32' ? fromPowershell(pid) : fromPs(pid)
  } catch {
    return null
  }
}

function fromProc(pid: number): ProcessIdentity | null {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command in parentheses may hold spaces and parentheses: count the fields from the last one on.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startedAt = fields[18]
  if (state === 'Z' || state === 'X' || startedAt === undefined) return null
  return { startedAt, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
}

function fromPs(pid: number): ProcessIdentity | null {
  const line = run('ps', ['-ww', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)], {
    PATH: '/bin:/usr/bin',
    LC_ALL: 'C',
  })
  // lstart is always of the form "Fri Nov 20 04:22:13 2026".
  return line.length <= 24 ? null : { startedAt: line.slice(0, 24), command: line.slice(24).trim() }
}

function fromPowershell(pid: number): ProcessIdentity | null {
  const query = `Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}' | ForEach-Object { "$($_.CreationDate.Ticks) $($_.CommandLine)" }`
  const line = run('powershell', ['-NoProfile', '-NonInteractive', '-Command', query], childEnvironment(ownEnvironment))
  const space = line.indexOf(' ')
  return space < 0 ? null : { startedAt: line.slice(0, space), command: line.slice(space + 1) }
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 10_000,
    env,
  }).trim()
}
