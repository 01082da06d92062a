import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { sleep } from '../../../../core/time.ts'
import { identifyProcess } from './process-identity.ts'

const schema = z.object({ pid: z.int().positive(), startedAt: z.string() })

/** Notes the child that was just spawned, with its start time, so that a recycled pid is never taken for it. */
export function writePidfile(path: string, pid: number): void {
  const startedAt = identifyProcess(pid)?.startedAt
  if (startedAt !== undefined) writeFileSync(path, JSON.stringify({ pid, startedAt }), { mode: 0o600 })
}

export function removePidfile(path: string): void {
  rmSync(path, { force: true })
}

/**
 * Ends the child that a killed backend left behind, and removes the file. A file that can't be read, or that speaks of
 * a process which is no longer the one it was, ends nothing; nor does one that was copied here from another data dir.
 *
 * @param marker an argument of the child's command line that no other process has
 * @returns the pid that was ended, or null
 */
export async function endOrphan(path: string, marker: string): Promise<number | null> {
  const noted = read(path)
  removePidfile(path)
  if (noted === null || !isStill(noted, marker)) return null
  try {
    process.kill(noted.pid, 'SIGKILL')
  } catch {
    return null
  }
  // It holds nothing that we need, but two nodes at once would double the memory of a start.
  for (let waited = 0; waited < 2_000 && isStill(noted, marker); waited += 10) await sleep(10)
  return noted.pid
}

function isStill(noted: z.infer<typeof schema>, marker: string): boolean {
  const found = identifyProcess(noted.pid)
  return found !== null && found.startedAt === noted.startedAt && found.command.includes(marker)
}

function read(path: string): z.infer<typeof schema> | null {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return null
  }
}
