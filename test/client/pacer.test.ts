import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPacer } from '../../src/client/pacer.ts'

/** A clock that jumps to the next timer whenever nothing else is to do. */
function simulation() {
  let time = 0
  const timers: { at: number; run: () => void }[] = []
  return {
    now: () => time,
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        timers.push({ at: time + ms, run: resolve })
      })
    },
    async run() {
      for (;;) {
        await new Promise(setImmediate)
        timers.sort((a, b) => a.at - b.at)
        const next = timers.shift()
        if (next === undefined) return
        time = Math.max(time, next.at)
        next.run()
      }
    },
  }
}

const latencies = fc.record({
  there: fc.integer({ min: 0, max: 3000 }),
  work: fc.integer({ min: 0, max: 3000 }),
  back: fc.integer({ min: 0, max: 3000 }),
  idle: fc.integer({ min: 0, max: 1500 }),
})

/** Sends a request for each latency; when each left and arrived. */
async function send(
  perSecond: number | null,
  requests: readonly { there: number; work: number; back: number; idle: number }[],
) {
  const world = simulation()
  const pacer = createPacer({ perSecond, now: world.now, sleep: world.sleep })
  const arrivals: number[] = []
  const all = Promise.all(
    requests.map(async ({ there, work, back, idle }) => {
      if (idle > 1000) await world.sleep(idle)
      const permit = await pacer.acquire()
      await world.sleep(there)
      arrivals.push(world.now())
      await world.sleep(work + back)
      permit.answered()
    }),
  )
  await world.run()
  await all
  return { arrivals: arrivals.sort((a, b) => a - b), end: world.now() }
}

describe('pacer', () => {
  test('a server never counts more requests than the rate in any second, however long they travel', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(latencies, { minLength: 1, maxLength: 25 }),
        async (perSecond, requests) => {
          const { arrivals } = await send(perSecond, requests)
          expect(arrivals).toHaveLength(requests.length)
          for (let i = perSecond; i < arrivals.length; i++) {
            expect((arrivals[i] ?? 0) - (arrivals[i - perSecond] ?? 0)).toBeGreaterThan(1000)
          }
        },
      ),
    )
  })

  test('uses the rate up: 400 requests at 2 a second take the ideal time and the round trips, within 1 %', async () => {
    const requests = Array.from({ length: 400 }, () => ({ there: 10, work: 20, back: 10, idle: 0 }))
    const { end } = await send(2, requests)
    const ideal = (requests.length / 2) * (1000 + 40)
    expect(end).toBeLessThan(ideal * 1.01)
  })

  test('a rate below one leaves seconds between requests', async () => {
    const { arrivals } = await send(
      0.5,
      [0, 0, 0].map(() => ({ there: 0, work: 0, back: 0, idle: 0 })),
    )
    expect((arrivals[1] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(2000)
  })

  test('without a rate nothing waits', async () => {
    const { end } = await send(
      null,
      Array.from({ length: 100 }, () => ({ there: 5, work: 5, back: 0, idle: 0 })),
    )
    expect(end).toBe(10)
  })

  test('a hold stops everything until its time, and a shorter one does not end it', async () => {
    const world = simulation()
    const pacer = createPacer({ perSecond: 2, now: world.now, sleep: world.sleep })
    pacer.hold(5000)
    pacer.hold(10)
    let left = -1
    void pacer.acquire().then(() => {
      left = world.now()
    })
    await world.run()
    expect(left).toBe(5000)
  })

  test('a hold that comes while others wait holds them too', async () => {
    const world = simulation()
    const pacer = createPacer({ perSecond: 1, now: world.now, sleep: world.sleep })
    const first = await pacer.acquire()
    first.answered()
    let left = -1
    void pacer.acquire().then(() => {
      left = world.now()
    })
    pacer.hold(7000)
    await world.run()
    expect(left).toBe(7000)
  })

  test('a permit that was not used gives its place back at once', async () => {
    const world = simulation()
    const pacer = createPacer({ perSecond: 1, now: world.now, sleep: world.sleep })
    ;(await pacer.acquire()).unused()
    const second = await pacer.acquire()
    expect(world.now()).toBe(0)
    second.answered()
    second.unused()
    let left = -1
    void pacer.acquire().then(() => {
      left = world.now()
    })
    await world.run()
    expect(left).toBeGreaterThan(1000)
  })

  test('waiting ends with the signal, and the next in line is served', async () => {
    const pacer = createPacer({ perSecond: 1 })
    const first = await pacer.acquire()
    const abort = new AbortController()
    const second = pacer.acquire(abort.signal)
    const third = pacer.acquire()
    const reason = new Error('stopped')
    abort.abort(reason)
    await expect(second).rejects.toBe(reason)
    first.unused()
    await expect(third).resolves.toBeDefined()
  })

  test('a rate that is no rate is refused', () => {
    for (const perSecond of [0, -1, Number.NaN]) expect(() => createPacer({ perSecond })).toThrow(RangeError)
  })
})
