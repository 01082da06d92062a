import { setImmediate as turn } from 'node:timers/promises'

/** Milliseconds of CPU time that this process has used since. Unlike time, it doesn't depend on other processes. */
export function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/**
 * Runs work.
 *
 * @returns CPU milliseconds of the longest turn of the event loop meanwhile, and of all turns that took a millisecond
 */
export async function longestTurn<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; longest: number; total: number }> {
  let longest = 0
  let total = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const since = process.cpuUsage()
      await turn()
      const ms = cpuMs(since)
      longest = Math.max(longest, ms)
      if (ms >= 1) total += ms
    }
  })()
  const result = await work().finally(() => {
    isOver = true
  })
  await watching
  return { result, longest, total }
}
