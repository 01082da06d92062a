/** @module-tag slow */
import { chmod, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createSharedPace } from '../../../src/client/pace/shared-pace.ts'
import { createPacer } from '../../../src/client/pacer.ts'
import { Secret } from '../../../src/core/secret.ts'
import { openSqlite, type RawDatabase } from '../../../src/sqlite/driver.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { SimulatedMachine, type SimulatedProcess, Simulation } from './shared-simulation.ts'

/** The clock of the tests on the disk: only waiting for a slot advances it. */
const clock = vi.hoisted(() => ({ now: 1_000_000 }))
vi.mock('../../../src/core/time.ts', async (original) => ({
  ...(await original<object>()),
  bootClock: () => clock.now,
  async sleep(ms: number, signal?: AbortSignal) {
    await setImmediate()
    signal?.throwIfAborted()
    clock.now += ms
  },
}))

const SOAK = process.env.GDN_SOAK === '1'
const DEFAULT = { rate: null, observed: () => null }
const told = (perSecond: number | null) => ({ rate: null, observed: () => ({ perSecond }) })

/** Durations in milliseconds. A request travels for less than a second, as the limiter assumes. */
interface Journey {
  idle: number
  journal: number
  there: number
  back: number
}

const ms = (max: number) => fc.integer({ min: 0, max })
const mostly = (short: number, long: number) => fc.oneof(ms(short), ms(short), ms(long))
const journey = fc.record({ idle: mostly(50, 1500), journal: mostly(20, 4000), there: ms(990), back: mostly(50, 6000) })

/** Sends as the client does: with a slot, renewed if it expires. Calls `arrive` when the request is sent. */
async function send(process: SimulatedProcess, { idle, journal, there, back }: Journey, arrive: (in_: number) => void) {
  await process.sleep(idle)
  for (;;) {
    const leave = await process.pacer.enter('createnft')
    await process.sleep(journal)
    if (leave.isValid()) {
      arrive(there)
      await process.sleep(there + back)
      return leave.done()
    }
    leave.done()
  }
}

const gaps = (arrivals: readonly number[], apart: number) => {
  const sorted = [...arrivals].sort((a, b) => a - b)
  return sorted.slice(apart).map((at, i) => at - (sorted[i] ?? 0))
}

function environment() {
  const simulation = new Simulation()
  const machine = new SimulatedMachine(simulation)
  return { simulation, machine }
}

describe('processes with one key', () => {
  test('never have three requests arrive within a second, even if some are killed or stopped', async () => {
    const life = fc.record({
      journeys: fc.array(journey, { minLength: 2, maxLength: 8 }),
      killedAt: fc.option(ms(8000), { nil: undefined }),
      stops: fc.array(fc.record({ at: ms(8000), for: ms(9000) }), { maxLength: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 2, maxLength: 6 }), async (lives) => {
        const { simulation, machine } = environment()
        const arrivals: number[] = []
        const arrive = (there: number) => void simulation.sleep(there).then(() => arrivals.push(simulation.time))
        for (const { journeys, killedAt, stops } of lives) {
          const process = machine.process(DEFAULT)
          void (async () => {
            for (const one of journeys) await send(process, one, arrive)
          })()
          if (killedAt !== undefined) void simulation.sleep(killedAt).then(() => process.kill())
          for (const stop of stops) void simulation.sleep(stop.at).then(() => process.stop(stop.for))
        }
        await simulation.run()
        for (const gap of gaps(arrivals, 2)) expect(gap).toBeGreaterThan(1000)
        const certain = lives.filter(({ killedAt }) => killedAt === undefined).flatMap(({ journeys }) => journeys)
        expect(arrivals.length).toBeGreaterThanOrEqual(certain.length)
      }),
      { numRuns: SOAK ? 20_000 : 800 },
    )
  })

  test('use the full rate together: 80 requests of 8 processes take the ideal time, within 2 %', async () => {
    const { simulation, machine } = environment()
    const arrivals: number[] = []
    for (let index = 0; index < 8; index++) {
      const process = machine.process(DEFAULT)
      void (async () => {
        for (let n = 0; n < 10; n++) {
          await send(process, { idle: 0, journal: 1, there: 10, back: 10 }, () => arrivals.push(simulation.time))
        }
      })()
    }
    await simulation.run()
    expect(arrivals).toHaveLength(80)
    expect(simulation.time).toBeLessThan((80 / 2) * 1021 * 1.02)
  })

  test('take turns: no process sends a third request before each has sent one', async () => {
    const { simulation, machine } = environment()
    const order: number[] = []
    for (let index = 0; index < 8; index++) {
      const process = machine.process(DEFAULT)
      void (async () => {
        for (let n = 0; n < 3; n++) {
          await send(process, { idle: 0, journal: 0, there: 5, back: 5 }, () => order.push(index))
        }
      })()
    }
    await simulation.run()
    const third = order.findIndex((index, at) => order.slice(0, at).filter((other) => other === index).length === 2)
    expect(new Set(order.slice(0, third)).size).toBe(8)
  })

  test('skip a killed process that was first in line', async () => {
    const { simulation, machine } = environment()
    const [first, second, waiting] = [machine.process(DEFAULT), machine.process(DEFAULT), machine.process(DEFAULT)]
    for (const process of [first, second]) (await process.pacer.enter('createnft')).done()
    void waiting.pacer.enter('createnft')
    await simulation.run(10)
    let left = -1
    void first.pacer.enter('createnft').then(() => {
      left = simulation.time
    })
    await simulation.run(20)
    waiting.kill()
    await simulation.run(2500)
    expect(left).toBeGreaterThan(1000)
    expect(left).toBeLessThan(1600)
  })

  test('wait for two killed processes no longer than their requests may travel', async () => {
    const { simulation, machine } = environment()
    for (let index = 0; index < 2; index++) {
      const process = machine.process(DEFAULT)
      await process.pacer.enter('createnft')
      process.kill()
    }
    let left = -1
    void machine
      .process(DEFAULT)
      .pacer.enter('createnft')
      .then(() => {
        left = simulation.time
      })
    await simulation.run(5000)
    expect(left).toBeGreaterThan(1000)
    expect(left).toBeLessThan(2100)
  })

  test('take the slot of a stopped process, which is invalid when the process continues', async () => {
    const { simulation, machine } = environment()
    const stopped = machine.process(told(1))
    const leave = await stopped.pacer.enter('createnft')
    expect(leave.isValid()).toBe(true)
    stopped.stop(20_000)
    let left = -1
    void machine
      .process(told(1))
      .pacer.enter('createnft')
      .then(() => {
        left = simulation.time
      })
    await simulation.run(10_000)
    expect(left).toBeGreaterThan(3000)
    expect(left).toBeLessThan(6000)
    expect(leave.isValid()).toBe(false)
  })

  test('do not take the slot of a long request', async () => {
    const { simulation, machine } = environment()
    const slow = await machine.process(told(1)).pacer.enter('createnft')
    let left = -1
    void machine
      .process(told(1))
      .pacer.enter('createnft')
      .then(() => {
        left = simulation.time
      })
    await simulation.run(60_000)
    expect(left).toBe(-1)
    expect(slow.isValid()).toBe(true)
    slow.done()
    await simulation.run(63_000)
    expect(left).toBeGreaterThan(60_000)
  })

  test('keep the slot of a cut request for another second, because it may still arrive', async () => {
    const { simulation, machine } = environment()
    const leave = await machine.process(told(1)).pacer.enter('createnft')
    leave.connectionLost()
    leave.done()
    let left = -1
    void machine
      .process(told(1))
      .pacer.enter('createnft')
      .then(() => {
        left = simulation.time
      })
    await simulation.run(3000)
    expect(left).toBeGreaterThan(2000)
  })

  test('apply the lower rate of a process to that process only', async () => {
    const { simulation, machine } = environment()
    const count = { slow: 0, other: 0 }
    for (const [name, rate] of [
      ['slow', 0.5],
      ['other', null],
    ] as const) {
      const process = machine.process({ rate, observed: () => null })
      void (async () => {
        for (let n = 0; n < 100; n++) {
          const leave = await process.pacer.enter('createnft')
          count[name]++
          leave.done()
        }
      })()
    }
    await simulation.run(10_000)
    expect(count.slow).toBe(5)
    expect(count.other).toBeGreaterThan(12)
    expect(count.slow + count.other).toBeLessThanOrEqual(20)
  })

  test('ignore a rate above the one that the server announced', async () => {
    const { simulation, machine } = environment()
    const process = machine.process({ rate: 50, observed: () => ({ perSecond: 2 }) })
    let sent = 0
    void (async () => {
      for (;;) {
        const leave = await process.pacer.enter('createnft')
        sent++
        leave.done()
      }
    })()
    await simulation.run(3500)
    expect(sent).toBe(8)
  })
})

describe('a slot taken in advance', () => {
  test('is used by the next request of that endpoint, and counts once', async () => {
    const { simulation, machine } = environment()
    const { pacer } = machine.process(told(1))
    const taken = await pacer.take('createnft')
    const leave = await pacer.enter('createnft')
    expect(simulation.time).toBe(0)
    leave.done()
    let second = -1
    void pacer.enter('createnft').then(() => {
      second = simulation.time
    })
    await simulation.run(5000)
    // The caller that took it releases it.
    expect(second).toBe(-1)
    taken.done()
    await simulation.run(9000)
    expect(second).toBeGreaterThan(5000)
  })

  test('is released if it is not used', async () => {
    const { machine, simulation } = environment()
    const { pacer } = machine.process(told(1))
    ;(await pacer.take('createnft')).done()
    let left = -1
    void pacer.enter('createnft').then(() => {
      left = simulation.time
    })
    await simulation.run(5000)
    expect(left).toBeGreaterThan(1000)
  })
})

describe('on the disk', () => {
  let folder: string
  beforeEach(async () => {
    folder = await temporaryFolder('gdn-limiters-')
  })

  interface Process {
    origin?: string
    key?: string
    observed?: number | null
    folders?: string[]
  }

  /** A pacer as a process has it, and the errors that it reported. */
  function process({ origin = 'https://nft.example', key = 'key-1', observed, folders }: Process = {}) {
    const trouble: unknown[] = []
    const shared = createSharedPace({
      folders: folders ?? [join(folder, 'pace')],
      origin,
      apiKey: new Secret(key),
      onTrouble: (error) => trouble.push(error),
    })
    const limit = observed === undefined ? null : { perSecond: observed }
    return { pacer: createPacer({ rate: null, observed: () => limit, shared }), trouble }
  }

  /** Waits for a slot. Returns the time in milliseconds. */
  async function waits({ pacer }: ReturnType<typeof process>): Promise<number> {
    const began = clock.now
    const leave = await pacer.enter('createnft')
    const waited = clock.now - began
    leave.done()
    return waited
  }

  async function takeAll(owner = process()) {
    for (let slot = 0; slot < 2; slot++) await waits(owner)
    return owner
  }

  /** Runs a function with the database of a folder, without the processes noticing. */
  function inDatabase<Result>(act: (raw: RawDatabase) => Result, pace = join(folder, 'pace')): Result {
    const raw = openSqlite(join(pace, 'pace.db'))
    try {
      return act(raw)
    } finally {
      raw.close()
    }
  }
  const limiters = () => inDatabase((raw) => raw.prepare('SELECT name FROM limiters').all([]))
  const newest = (pace?: string) =>
    inDatabase(
      (raw) => (raw.prepare('SELECT state FROM limiters').all([]) as { state: string }[])[0]?.state ?? '',
      pace,
    )
  const put = (state: string, pace?: string) =>
    inDatabase((raw) => void raw.prepare('UPDATE limiters SET state = ?').run([state]), pace)

  test('another process waits for the slots of this one, but each key and origin has separate slots', async () => {
    await takeAll()
    expect(await waits(process({ key: 'key-2' }))).toBe(0)
    expect(await waits(process({ origin: 'https://other.example' }))).toBe(0)
    expect(await waits(process())).toBeGreaterThan(1000)
    expect(limiters()).toHaveLength(3)
  })

  test('429 and Retry-After for one process hold the others with that key, but not another key', async () => {
    const one = process()
    await waits(one)
    one.pacer.hold('createnft', 700)
    expect(await waits(process({ key: 'key-2' }))).toBe(0)
    expect(await waits(process())).toBe(700)
  })

  test('a request without a slot ends with rate_limited if the server requests a long wait', async () => {
    const one = process()
    await waits(one)
    one.pacer.hold('createnft', 3_600_000)
    await waits(process({ key: 'key-2' }))
    await expect(process().pacer.enter('createnft')).rejects.toMatchObject({ code: 'rate_limited' })
  })

  test('the database contains neither key nor origin, and only its owner can read it', async () => {
    await takeAll(process({ key: 'the-key' }))
    const database = join(folder, 'pace', 'pace.db')
    expect(await readFile(database, 'latin1')).not.toMatch(/the-key|nft\.example/)
    expect((await stat(database)).mode & 0o777).toBe(0o600)
    const { mode } = await import('node:fs').then(({ statSync }) => statSync(join(folder, 'pace')))
    expect(mode & 0o777).toBe(0o700)
  })

  test('an announced absence of limits applies to other processes too, without file access', async () => {
    const one = process({ observed: null })
    for (let n = 0; n < 50; n++) await waits(one)
    expect(await readdir(join(folder, 'pace'))).toEqual([])
    // The first request of a process doesn't know the limit yet. What it learns counts for the next ones.
    let perSecond: number | null | undefined
    const shared = createSharedPace({ folders: [join(folder, 'pace')], origin: 'o', apiKey: null })
    const observed = () => (perSecond === undefined ? null : { perSecond })
    const first = await createPacer({ rate: null, observed, shared }).enter('createnft')
    perSecond = null
    first.done()
    const began = clock.now
    for (let n = 0; n < 10; n++) {
      const next = createSharedPace({ folders: [join(folder, 'pace')], origin: 'o', apiKey: null })
      await createPacer({ rate: null, observed: () => null, shared: next }).enter('createnft')
    }
    expect(clock.now).toBe(began)
  })

  test('a state that is cut, empty, damaged or of a newer version counts as full for one second', async () => {
    const spoilings: ((text: string) => string)[] = [
      (text) => text.slice(0, 60),
      () => '',
      (text) => text.replace('"heldUntil":0', '"heldUntil":1'),
      (text) => text.replace('gdn2', 'gdn3'),
      () => '{"a":1}\n',
    ]
    for (const [index, spoil] of spoilings.entries()) {
      const folders = [join(folder, `spoilt${index}`)]
      await waits(process({ folders }))
      const text = newest(folders[0])
      const spoilt = spoil(text)
      expect(spoilt).not.toBe(text)
      put(spoilt, folders[0])
      const waited = await waits(process({ folders }))
      expect(waited).toBeGreaterThan(1000)
      expect(waited).toBeLessThan(1100)
    }
  })

  test('ignores the state of an earlier boot', async () => {
    await takeAll()
    const [, , json = ''] = newest()
      .trim()
      .split(/ (.*?) (.*)/s, 3)
    const { encodeState } = await import('../../../src/client/pace/limiter-state.ts')
    put(encodeState({ ...JSON.parse(json), boot: 'another', heldUntil: Number.MAX_SAFE_INTEGER }))
    expect(await waits(process())).toBe(0)
  })

  test.each([
    ['a file', (path: string) => writeFile(path, '')],
    ['a link to somewhere else', (path: string) => symlink(tmpdir(), path)],
  ])('skips a folder that is %s, and without any folder each process keeps its own pace', async (_what, make) => {
    const bad = join(folder, 'bad')
    await make(bad)
    const next = join(folder, 'next')
    const one = process({ folders: [bad, next] })
    await takeAll(one)
    expect(one.trouble).toEqual([])
    expect(await readdir(next)).toHaveLength(1)
    const alone = await takeAll(process({ folders: [bad] }))
    expect(alone.trouble).toHaveLength(1)
    expect(await waits(alone)).toBeGreaterThan(1000)
  })

  test('removes the write permission of others from a folder first', async () => {
    const open = join(folder, 'open')
    await import('node:fs/promises').then(({ mkdir }) => mkdir(open))
    await chmod(open, 0o777)
    await takeAll(process({ folders: [open] }))
    const { statSync } = await import('node:fs')
    expect(statSync(open).mode & 0o777).toBe(0o700)
  })
})
