import { readFileSync } from 'node:fs'
import { familyOf } from './processes.ts'

/** Ticks of the kernel's clock in a second, which Linux has fixed for user space. */
const TICKS = 100

/** Seconds that a process has computed. */
function secondsOf(pid: number): number {
  try {
    // The command's name stands in brackets and may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return 0
  }
}

/** Groups of processes, each with all that they started, and what they computed between two looks. */
export function watchCpu(groups: Readonly<Record<string, readonly number[]>>): () => Record<string, number> {
  const look = () =>
    Object.fromEntries(
      Object.entries(groups).map(([name, pids]) => [
        name,
        pids.flatMap(familyOf).reduce((sum, pid) => sum + secondsOf(pid), 0),
      ]),
    )
  const before = look()
  return () => {
    const after = look()
    return Object.fromEntries(Object.keys(groups).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]))
  }
}
