import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPacer, type PacerOptions } from '../../src/client/pacer.ts'

interface Timer {
  at: number
  run: () => void
}

/** A clock that jumps to the next timer whenever nothing else is left to do. */
function simulation() {
  let time = 0
  const timers = new Set<Timer>()
  return {
    now: () => time,
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve, reject) => {
        const timer = { at: time + ms, run: resolve }
        timers.add(timer)
        signal?.addEventListener('abort', () => {
          timers.delete(timer)
          reject(signal.reason)
        })
      })
    },
    async run() {
      for (;;) {
        await new Promise(setImmediate)
        const [next] = [...timers].sort((a, b) => a.at - b.at)
        if (next === undefined) return
        timers.delete(next)
        time = Math.max(time, next.at)
        next.run()
      }
    },
  }
}

interface Journey {
  there: number
  work: number
  back: number
  idle: number
}

const ms = (max: number) => fc.integer({ min: 0, max })
const journey = fc.record({ there: ms(3000), work: ms(3000), back: ms(3000), idle: ms(1500) })
const same = (n: number, part: Partial<Journey>): Journey[] =>
  Array.from({ length: n }, () => ({ there: 0, work: 0, back: 0, idle: 0, ...part }))

/** Sends a request for each journey. Returns the times at which they arrive. */
async function send(limits: Pick<PacerOptions, 'rate' | 'observed'>, journeys: readonly Journey[]) {
  const world = simulation()
  const pacer = createPacer({ ...limits, now: world.now, sleep: world.sleep })
  const arrivals: number[] = []
  const all = Promise.all(
    journeys.map(async ({ there, work, back, idle }) => {
      if (idle > 1000) await world.sleep(idle)
      const { done } = await pacer.take('createnft')
      await world.sleep(there)
      arrivals.push(world.now())
      await world.sleep(work + back)
      done()
    }),
  )
  await world.run()
  await all
  return { arrivals: arrivals.sort((a, b) => a - b), end: world.now() }
}

const gaps = (arrivals: readonly number[], apart: number) =>
  arrivals.slice(apart).map((at, i) => at - (arrivals[i] ?? 0))

const told = (perSecond: number | null) => ({ rate: null, observed: () => ({ perSecond }) })
const wanted = (rate: number) => ({ rate, observed: () => null })

/** Takes a slot. Returns the time at which it was free. */
async function leaveAt(prepare: (pacer: ReturnType<typeof createPacer>) => Promise<void> | void) {
  const world = simulation()
  const pacer = createPacer({ ...wanted(1), now: world.now, sleep: world.sleep })
  let left = -1
  const waiting = prepare(pacer)
  void pacer.take('createnft').then(() => {
    left = world.now()
  })
  await waiting
  await world.run()
  return left
}

describe('the pacer', () => {
  test('limits what arrives at the server in any second to the rate, however long requests travel', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        fc.array(journey, { minLength: 1, maxLength: 25 }),
        async (perSecond, byUser, journeys) => {
          const { arrivals } = await send(byUser ? wanted(perSecond) : told(perSecond), journeys)
          expect(arrivals).toHaveLength(journeys.length)
          for (const gap of gaps(arrivals, perSecond)) expect(gap).toBeGreaterThan(1000)
        },
      ),
    )
  })

  test('allows two requests per second by default', async () => {
    const { arrivals } = await send({ rate: null, observed: () => null }, same(6, {}))
    expect(arrivals.slice(0, 2)).toEqual([0, 0])
    for (const gap of gaps(arrivals, 2)) expect(gap).toBeGreaterThan(1000)
  })

  test('uses the full rate: 400 requests at 2 per second take the ideal time and the round trips, within 1 %', async () => {
    const { end } = await send(wanted(2), same(400, { there: 10, work: 20, back: 10 }))
    expect(end).toBeLessThan((400 / 2) * (1000 + 40) * 1.01)
  })

  test('prefers the rate of the user to that of the server', async () => {
    const { arrivals } = await send({ rate: 1, observed: () => ({ perSecond: 50 }) }, same(3, {}))
    for (const gap of gaps(arrivals, 1)) expect(gap).toBeGreaterThan(1000)
  })

  test('waits for seconds between requests at a rate below one', async () => {
    const { arrivals } = await send(wanted(0.5), same(3, {}))
    for (const gap of gaps(arrivals, 1)) expect(gap).toBeGreaterThan(2000)
  })

  test('sets no limit if the server announces that it has none', async () => {
    expect((await send(told(null), same(100, { there: 5, work: 5 }))).end).toBe(10)
  })

  test('does not block forever if the server announces a quota of 0', async () => {
    expect((await send(told(0), same(4, {}))).arrivals).toHaveLength(4)
  })

  test('applies an announced limit from that response on', async () => {
    let perSecond: number | null = 1
    const world = simulation()
    const observed = () => ({ perSecond })
    const pacer = createPacer({ rate: null, observed, now: world.now, sleep: world.sleep })
    const first = await pacer.take('createnft')
    const others = [pacer.take('createnft'), pacer.take('createnft')]
    await new Promise(setImmediate)
    perSecond = null
    first.done()
    await Promise.all(others)
    expect(world.now()).toBe(0)
  })

  test('waits until a hold of its endpoint ends, which a shorter hold does not change', async () => {
    const held = (pacer: ReturnType<typeof createPacer>) => {
      pacer.hold('createnft', 5000)
      pacer.hold('createnft', 10)
    }
    expect(await leaveAt(held)).toBe(5000)
    expect(await leaveAt((pacer) => pacer.hold('getnfts', 5000))).toBe(0)
  })

  test('waits for a hold that begins while requests are waiting', async () => {
    const left = await leaveAt(async (pacer) => {
      const { done } = await pacer.take('createnft')
      done()
      pacer.hold('createnft', 7000)
    })
    expect(left).toBe(7000)
  })

  test('releases one slot if a response is reported twice', async () => {
    const world = simulation()
    const pacer = createPacer({ ...wanted(1), now: world.now, sleep: world.sleep })
    const first = await pacer.take('createnft')
    first.done()
    first.done()
    const left: number[] = []
    const next = async () => {
      const { done } = await pacer.take('createnft')
      left.push(world.now())
      done()
    }
    void next()
    void next()
    await world.run()
    for (const gap of gaps([0, ...left], 1)) expect(gap).toBeGreaterThan(1000)
  })

  test('stops waiting when the signal is aborted, and the next in line proceeds', async () => {
    const pacer = createPacer(wanted(1))
    const first = await pacer.take('createnft')
    const stop = new AbortController()
    const second = pacer.take('createnft', stop.signal)
    const third = pacer.take('createnft')
    const reason = new Error('stopped')
    stop.abort(reason)
    await expect(second).rejects.toBe(reason)
    first.done()
    await expect(third).resolves.toBeDefined()
  })
})
