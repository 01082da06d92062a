import { readFileSync } from 'node:fs'
import { familyOf } from './processes.ts'

/** Ticks of the kernel clock in a second, which Linux has fixed for user space. */
const TICKS = 100

/** CPU seconds of a process, including its children that have ended. */
function secondsOf(pid: number, withEnded: boolean): number {
  try {
    // The command's name is in parentheses and may contain any character.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (withEnded ? [11, 12, 13, 14] : [11, 12]).reduce((sum, at) => sum + Number(fields[at]), 0) / TICKS
  } catch {
    return 0
  }
}

/** CPU use of groups of processes, with all their children, between two readings. */
export function watchCpu(groups: Readonly<Record<string, readonly number[]>>): () => Record<string, number> {
  const look = () =>
    Object.fromEntries(
      Object.entries(groups).map(([name, pids]) => [
        name,
        pids.flatMap(familyOf).reduce((sum, pid) => sum + secondsOf(pid, pids.includes(pid)), 0),
      ]),
    )
  const before = look()
  return () => {
    const after = look()
    return Object.fromEntries(Object.keys(groups).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]))
  }
}
