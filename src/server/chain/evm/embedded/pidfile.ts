import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { systemCode } from '../../../../core/errors.ts'
import { findProcess } from '../../../../core/process-identity.ts'
import { sha256Hex } from '../../../../core/sha256-hex.ts'
import { sleep } from '../../../../core/time.ts'

/** Paths of a chain's pidfile and of its node's home. */
export interface NodeFiles {
  pidfile: string
  home: string
  /**
   * Part of a command-line argument that identifies the child. It is derived from the path, in plain ASCII, so that
   * `ps` doesn't alter it.
   */
  marker: string
}

/**
 * Returns the paths of a chain's pidfile and of its node's home.
 *
 * @param stateDir an existing directory. Several chains may share it, and its path may contain symbolic links
 */
export function resolveNodeFiles(stateDir: string, blockchain: string): NodeFiles {
  const real = realpathSync(stateDir)
  const home = join(real, `${blockchain}-home`)
  const marker = `cache-${sha256Hex(home).slice(0, 32)}`
  return { pidfile: join(real, `${blockchain}.pid`), home, marker }
}

const pidfileSchema = z.object({ pid: z.int().positive(), startedAt: z.string() })

/** Records a new child with its start time, so that a process that reuses its ID is never mistaken for the child. */
export function writePidfile(path: string, pid: number): void {
  const startedAt = findProcess(pid)?.startedAt
  if (startedAt !== undefined) writeFileSync(path, JSON.stringify({ pid, startedAt }), { mode: 0o600 })
}

export function removePidfile(path: string): void {
  rmSync(path, { force: true })
}

/** Terminates every node that a killed backend left running, even if its chain isn't used again. */
export async function endOrphans(stateDir: string): Promise<void> {
  const names = await readdir(stateDir).catch((error) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  await Promise.all(names.filter((name) => name.endsWith('.pid')).map((name) => endOrphan(join(stateDir, name))))
}

/**
 * Terminates the child that a killed backend left running, and removes the pidfile. Doesn't terminate any process if
 * the pidfile can't be read, was copied from another data directory, or contains a process ID that was reused. A child
 * that was spawned but not recorded exits by itself, because it can't start without its upstream, which ended with the
 * backend.
 *
 * @returns the process ID of the terminated child, or null
 */
export async function endOrphan(path: string): Promise<number | null> {
  const recorded = readPidfile(path)
  const ended = recorded === null ? null : await endRecorded(path, recorded)
  // Remove the file last. If this process is killed before the child has exited, the next start still finds the file.
  removePidfile(path)
  return ended
}

async function endRecorded(path: string, recorded: z.infer<typeof pidfileSchema>): Promise<number | null> {
  const { marker } = resolveNodeFiles(dirname(path), basename(path, '.pid'))
  if (!isStillRunning(recorded, marker)) return null
  try {
    process.kill(recorded.pid, 'SIGKILL')
  } catch {
    return null
  }
  // Wait for the exit, because two running nodes would double the memory at startup.
  for (let waited = 0; waited < 2_000 && isStillRunning(recorded, marker); waited += 10) await sleep(10)
  return recorded.pid
}

function isStillRunning(recorded: z.infer<typeof pidfileSchema>, marker: string): boolean {
  const running = findProcess(recorded.pid)
  return running !== null && running.startedAt === recorded.startedAt && running.command.includes(marker)
}

function readPidfile(path: string): z.infer<typeof pidfileSchema> | null {
  try {
    return pidfileSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return null
  }
}
