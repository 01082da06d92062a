import { sleep } from '../../src/core/time.ts'

/** Repeats work, in a window of its own, until it took less than a second: only then a limit per second applies. */
export async function withinASecond<Result>(work: () => Promise<Result>): Promise<Result> {
  for (; ; await sleep(1000)) {
    const since = performance.now()
    const result = await work()
    if (performance.now() - since < 1000) return result
  }
}
