/** @module-tag slow */
import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFetcher, type Fetcher } from '../../src/files/fetcher.ts'
import { createPace, type Pace } from '../../src/files/pace.ts'
import { gate } from '../helpers/gate.ts'
import { type PretendInternet, PUBLIC_V4, pretendInternet } from './pretend-internet.ts'

const never = new AbortController().signal
setMaxListeners(0, never)

describe('requests to one origin', () => {
  test('run up to the limit, in order of arrival, without delaying other origins', async () => {
    const pace = createPace({ maxConcurrent: 3, apartMs: 0 })
    const order: number[] = []
    let active = 0
    let most = 0
    const hold = gate()
    const work = async (i: number) => {
      const leave = await pace.enter('https://a.example', never)
      order.push(i)
      most = Math.max(most, ++active)
      await hold.pass()
      active--
      leave()
    }
    const all = Array.from({ length: 30 }, (_, i) => work(i))
    const leave = await pace.enter('https://b.example', never)
    expect(order).toEqual([0, 1, 2])
    leave()
    hold.open()
    await Promise.all(all)
    expect(most).toBe(3)
    expect(order).toEqual(Array.from({ length: 30 }, (_, i) => i))
  })

  test('start at the minimum interval', async () => {
    const pace = createPace({ maxConcurrent: 100, apartMs: 10 })
    const since = performance.now()
    await Promise.all(Array.from({ length: 21 }, () => pace.enter('a', never)))
    expect(performance.now() - since).toBeGreaterThan(190)
  })

  test('release their place in the queue when they are aborted', async () => {
    const pace = createPace({ maxConcurrent: 1, apartMs: 0 })
    const leave = await pace.enter('a', never)
    const stop = new AbortController()
    const given = pace.enter('a', stop.signal)
    const next = pace.enter('a', never)
    stop.abort(new Error('canceled'))
    await expect(given).rejects.toThrow('canceled')
    leave()
    ;(await next)()
  })

  test('requests wait for the delay of the origin, at most five minutes', async () => {
    let now = 0
    const pace = createPace({ maxConcurrent: 6, apartMs: 20 }, () => now)
    pace.pause('a', 3_600_000)
    expect(pace.delayMs('a')).toBeGreaterThanOrEqual(300_000)
    expect(pace.delayMs('a')).toBeLessThan(301_000)
    expect(pace.delayMs('b')).toBe(0)
    now = 300_001
    expect(pace.delayMs('a')).toBe(0)
  })

  test('get different start times after a delay', async () => {
    const pace = createPace({ maxConcurrent: 6, apartMs: 20 }, () => 0)
    pace.pause('a', 1000)
    const times = Array.from({ length: 10_000 }, () => pace.delayMs('a'))
    for (const [i, time] of times.slice(1).entries()) expect(time - (times[i] ?? 0)).toBeCloseTo(20)
    expect(times.at(-1)).toBeGreaterThan(199_000)
  })

  test('never exceed the limit, and all run, in any order of entering, leaving, aborting and pausing', async () => {
    const step = fc.record({ origin: fc.constantFrom('a', 'b'), ms: fc.nat(8), giveUp: fc.boolean(), pause: fc.nat(5) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const pace = createPace({ maxConcurrent: 2, apartMs: 1 })
        const active = new Map<string, number>()
        let done = 0
        await Promise.all(
          steps.map(async ({ origin, ms, giveUp, pause }) => {
            const stop = new AbortController()
            if (giveUp) setTimeout(() => stop.abort(new Error('canceled')), ms)
            if (pause === 5) pace.pause(origin, 3)
            try {
              const leave = await pace.enter(origin, stop.signal)
              const now = (active.get(origin) ?? 0) + 1
              active.set(origin, now)
              expect(now).toBeLessThanOrEqual(2)
              await sleep(ms % 3)
              active.set(origin, (active.get(origin) ?? 0) - 1)
              leave()
              leave()
            } catch (error) {
              if (!giveUp) throw error
            }
            done++
          }),
        )
        expect(done).toBe(steps.length)
        expect([...active.values()].every((count) => count === 0)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a fetcher with a pace', () => {
  let internet: PretendInternet
  let fetcher: Fetcher
  let pace: Pace
  beforeEach(async () => {
    internet = await pretendInternet()
    pace = createPace({ maxConcurrent: 2, apartMs: 5 })
    fetcher = make()
  })
  afterEach(async () => {
    await fetcher.close()
    await internet.close()
  })
  const make = (timeoutMs = 60_000, allowPrivate = false) =>
    createFetcher({ allowPrivate, userAgent: 'gdn', lookup: internet.resolve, pace, timeoutMs })

  async function read(url: string): Promise<number> {
    let size = 0
    for await (const bytes of (await fetcher.fetchFile(url)).content) size += bytes.length
    return size
  }

  test('holds its slot until a file is read to its end', async () => {
    const halves: ServerResponse[] = []
    let most = 0
    internet.answer = (_, response) => {
      response.write('half a file, ')
      most = Math.max(most, halves.push(response))
    }
    const reads = Array.from({ length: 12 }, (_, i) => read(`http://files.example/${i}`))
    for (let ended = 0; ended < reads.length; ended += 2) {
      await expect.poll(() => halves.length).toBe(2)
      for (const response of halves.splice(0)) response.end('and the rest')
    }
    expect(new Set(await Promise.all(reads))).toEqual(new Set([25]))
    expect(most).toBe(2)
  })

  test('does not count the wait for a slot for the timeout', async () => {
    internet.hosts['silent.example'] = [[PUBLIC_V4]]
    internet.answer = (request, response) => {
      if (request.headers.host !== 'silent.example') response.end('a file')
    }
    const pausing = make(1500)
    const leave = [await pace.enter('http://files.example', never), await pace.enter('http://files.example', never)]
    const reading = pausing.fetchFile('http://files.example/')
    // A later request with the same time limit has timed out.
    await expect(pausing.fetchFile('http://silent.example/')).rejects.toThrow('took longer than 1.5 s')
    for (const each of leave) each()
    for await (const _ of (await reading).content);
    await pausing.close()
  })

  test('limits requests to an origin that others redirect to, without blocking its own redirects', async () => {
    const hosts = Array.from({ length: 10 }, (_, i) => `from-${i}.example`)
    for (const host of hosts) internet.hosts[host] = [[PUBLIC_V4]]
    let active = 0
    let most = 0
    internet.answer = (request, response) => {
      if (request.headers.host !== 'files.example') {
        return void response.writeHead(302, { location: 'http://files.example/a' }).end()
      }
      if (request.url === '/a') return void response.writeHead(302, { location: '/b' }).end()
      most = Math.max(most, ++active)
      setTimeout(() => {
        active--
        response.end('a file')
      }, 30)
    }
    expect(await Promise.all(hosts.map((host) => read(`http://${host}/`)))).toEqual(Array(10).fill(6))
    expect(most).toBeLessThanOrEqual(2)
  })

  test('sends no requests to a busy origin until its delay ends', async () => {
    internet.answer = (_, response) => response.writeHead(429, { 'retry-after': '60' }).end()
    await expect(read('http://files.example/')).rejects.toThrow('429')
    expect(fetcher.queueDelayMs('http://files.example/other')).toBeGreaterThan(59_000)
    expect(fetcher.queueDelayMs('http://other.example/')).toBe(0)
    expect(fetcher.queueDelayMs('no URL')).toBe(0)
  })

  test('releases its slot when a file is rejected, fails, times out, or is not read', async () => {
    internet.answer = (request, response) => {
      if (request.url === '/404') response.writeHead(404).end()
      else if (request.url === '/cut') response.destroy()
      else if (request.url === '/html') response.end('<!doctype html><title>x</title>')
      else if (request.url === '/unread') response.write(Buffer.alloc(100_000, 1))
      else if (request.url !== '/silent') response.end('a file')
    }
    pace = createPace({ maxConcurrent: 1, apartMs: 5 })
    const impatient = make(1000)
    for (const path of ['404', 'cut', 'html', 'silent']) {
      await expect(impatient.fetchFile(`http://files.example/${path}`)).rejects.toThrow()
    }
    await impatient.fetchFile('http://files.example/unread')
    await fetcher.close()
    fetcher = make()
    expect(await read('http://files.example/good')).toBe(6)
    await impatient.close()
  })

  test('does not limit private origins that are allowed', async () => {
    pace = createPace({ maxConcurrent: 1, apartMs: 10_000 })
    await fetcher.close()
    fetcher = make(60_000, true)
    for (let i = 0; i < 5; i++) expect(await read(`${internet.localUrl}/${i}`)).toBe(6)
  })
})
