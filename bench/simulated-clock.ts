import { getActiveResourcesInfo } from 'node:process'

interface Timer {
  at: number
  fire(): void
}

/** A clock that advances only while all code waits for it: computing and writing take no simulated time. */
export class SimulatedClock {
  #time = 0
  #timers: Timer[] = []

  readonly now = (): number => this.#time

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const abort = () => {
        this.#timers = this.#timers.filter((other) => other !== timer)
        reject(signal?.reason)
      }
      const timer: Timer = {
        at: this.#time + Math.max(0, ms),
        fire: () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#timers.push(timer)
    })

  /** Advances time until the work is done, and returns its result. */
  async passDuring<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false
    const end = () => {
      isDone = true
    }
    work.then(end, end)
    for (;;) {
      await untilIdle()
      if (isDone) return await work
      this.#timers.sort((a, b) => a.at - b.at)
      const next = this.#timers.shift()
      if (next === undefined) continue
      this.#time = next.at
      next.fire()
    }
  }
}

/** Resolves when all code is waiting: no file is being read or written, and no task is queued. */
async function untilIdle(): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'))) quiet = -1
  }
}
