import { sleep } from '../../src/core/time.ts'

/**
 * Repeats work, each time in a new window, until it takes less than a second. Only then does a limit per second apply.
 */
export async function withinASecond<Result>(work: () => Promise<Result>): Promise<Result> {
  for (; ; await sleep(1000)) {
    const since = performance.now()
    const result = await work()
    if (performance.now() - since < 1000) return result
  }
}
