import { execFile } from 'node:child_process'
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

/** The kernel's words on when a process began; null where there is no such process, or no way to tell. */
async function processStart(pid: number): Promise<{ startedAt: string | null; zombie: boolean }> {
  if (platform === 'linux') {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
      // The name in parentheses may hold anything, parentheses too.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      return { startedAt: fields[19] ?? null, zombie: fields[0] === 'Z' || fields[0] === 'X' }
    } catch {
      return { startedAt: null, zombie: false }
    }
  }
  if (platform === 'win32') return { startedAt: null, zombie: false }
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { ...childEnvironment(env), LC_ALL: 'C' },
    })
    return { startedAt: stdout.trim() || null, zombie: false }
  } catch {
    return { startedAt: null, zombie: false }
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

/** This process, as another one can look for it later. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: ownPid, startedAt: (await processStart(ownPid)).startedAt, bootId: await bootId() }
}

/** Whether the very process still runs. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!exists(identity.pid) || identity.bootId !== (await bootId())) return false
  const { startedAt, zombie } = await processStart(identity.pid)
  return !zombie && startedAt === identity.startedAt
}
