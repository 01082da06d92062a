import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'

const GONE_WITHIN_MS = 60_000

/**
 * Returns the PIDs of processes whose command line or environment contains a text. Linux only, because it reads /proc.
 */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        const facts = readFileSync(`/proc/${name}/cmdline`, 'utf8') + readFileSync(`/proc/${name}/environ`, 'utf8')
        return facts.includes(text)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Stops a process with SIGSTOP. Resolves once it is stopped: until then it may still respond. Linux only. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await sleep(1)
}

/**
 * Expects that no process contains a text within a short time, because children of a killed backend end later. The
 * failure shows the command lines of the remaining ones.
 */
export async function expectNoProcesses(text: string): Promise<void> {
  for (const end = Date.now() + GONE_WITHIN_MS; processesWith(text).length > 0 && Date.now() < end; ) await sleep(20)
  expect(processesWith(text).map(commandOf)).toEqual([])
}

function commandOf(pid: number): string {
  try {
    return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`
  } catch {
    return String(pid)
  }
}
