import { expect, test } from 'vitest'
import { type CheckUrlsOptions, checkUrls, type UrlFinding } from '../../src/files/check-urls.ts'
import { FetchFailure } from '../../src/files/failure.ts'
import type { Prober } from '../../src/files/prober.ts'
import { Simulation } from '../client/pace/shared-simulation.ts'

const lasting = (message: string, more = {}) => new FetchFailure(message, { isLasting: true, ...more })
const passing = (message: string, more = {}) => new FetchFailure(message, { isLasting: false, ...more })

/** Checks URLs in simulated time. Each takes 100 ms, and `answer` returns its outcome. */
async function run(
  urls: string[],
  answer: (url: string, time: number) => FetchFailure | null,
  more: Partial<CheckUrlsOptions> = {},
) {
  const simulation = new Simulation()
  const requests: { url: string; at: number }[] = []
  const findings: UrlFinding[] = []
  let atOnce = 0
  let most = 0
  const proberOf = (judge: typeof answer): Prober => ({
    async probe(url) {
      requests.push({ url, at: simulation.time })
      most = Math.max(most, ++atOnce)
      await simulation.sleep(100)
      atOnce--
      const failure = judge(url, simulation.time)
      if (failure !== null) throw failure
    },
    close: async () => {},
  })
  let checked = 0
  const done = checkUrls(urls, {
    prober: proberOf(answer),
    lenientProber: null,
    onFinding: (finding) => findings.push(finding),
    onChecked: () => checked++,
    now: simulation.now,
    sleep: simulation.sleep,
    ...more,
  })
  await Promise.race([simulation.run().then(() => done), done])
  return { asked: requests, findings, most, checked, seconds: simulation.time / 1000, proberOf }
}

const files = (n: number, host = 'files.example') => Array.from({ length: n }, (_, i) => `https://${host}/${i}.png`)

test('requests each file once, a few at a time and at most 20 a second per origin', async () => {
  const { asked, most, checked, findings } = await run(files(60), () => null)
  expect(asked).toHaveLength(60)
  expect(checked).toBe(60)
  expect(findings).toEqual([])
  expect(most).toBeLessThanOrEqual(3)
  const times = asked.map(({ at }) => at)
  for (const [i, at] of times.slice(20).entries()) expect(at - (times[i] ?? 0)).toBeGreaterThanOrEqual(1000)
})

test('limits the requests to many origins at once', async () => {
  const urls = Array.from({ length: 40 }, (_, i) => files(4, `host${i}.example`)).flat()
  const { asked, most } = await run(urls, () => null)
  expect(asked).toHaveLength(160)
  expect(most).toBeGreaterThan(6)
  expect(most).toBeLessThanOrEqual(18)
})

test('reports a permanent failure as an error after one request', async () => {
  const { asked, findings } = await run(files(1), (url) => lasting(`${url} answered 404 Not Found`))
  expect(asked).toHaveLength(1)
  expect(findings).toMatchObject([{ severity: 'error', message: 'https://files.example/0.png answered 404 Not Found' }])
})

test('retries a temporary failure once, after the requested delay, and then reports a warning', async () => {
  const { asked, findings } = await run(files(1), (url) => passing(`${url} answered 503`, { retryAfterMs: 7000 }))
  expect(asked.map(({ at }) => at)).toEqual([0, 7100])
  expect(findings).toMatchObject([{ severity: 'warning' }])
})

test('reports nothing if the second attempt succeeds', async () => {
  const { findings } = await run(files(1), (_url, time) => (time < 500 ? passing('down') : null))
  expect(findings).toEqual([])
})

test('sends no requests to a server until its delay ends, but continues with others', async () => {
  const limited = files(9)
  const { asked } = await run([...limited, ...files(3, 'other.example')], (url, time) =>
    url.includes('files.example') && time < 500 ? passing('busy', { retryAfterMs: 5000 }) : null,
  )
  const of = (host: string) => asked.filter(({ url }) => url.includes(host)).map(({ at }) => at)
  expect(of('files.example').filter((at) => at > 150 && at < 5000)).toEqual([])
  expect(Math.max(...of('other.example'))).toBeLessThan(1000)
})

test('stops requesting from a server that fails repeatedly, and reports the remaining files', async () => {
  const { asked, findings, seconds } = await run(files(1000), (url) => passing(`${url} refused the connection`))
  expect(asked.length).toBeLessThan(30)
  expect(findings).toHaveLength(1000)
  expect(findings.every(({ severity }) => severity === 'warning')).toBe(true)
  expect(findings.find(({ url }) => url.endsWith('/999.png'))?.message).toMatch(
    /^https:\/\/files.example\/999.png was not requested: https:\/\/files.example failed [5-9] times$/,
  )
  expect(seconds).toBeLessThan(60)
})

test('reports a private address as an error, or as a warning if the server may allow it', async () => {
  const refuse = (url: string) => lasting(`${url} resolves to a private address`, { isPrivate: true })
  const urls = ['http://127.0.0.1/here.png', 'http://127.0.0.1/gone.png']
  expect((await run(urls, refuse)).findings.map(({ severity }) => severity)).toEqual(['error', 'error'])
  const lenientProber: Prober = {
    async probe(url) {
      if (url.includes('gone')) throw lasting(`${url} answered 404 Not Found`)
    },
    close: async () => {},
  }
  expect((await run(urls, refuse, { lenientProber })).findings).toMatchObject([
    { severity: 'warning', message: 'http://127.0.0.1/here.png resolves to a private address' },
    { severity: 'error', message: 'http://127.0.0.1/gone.png answered 404 Not Found' },
  ])
})

test('requests an ipfs URL only with a gateway or a node, and never an invalid one', async () => {
  const url = 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
  const { asked, findings, checked } = await run([url, 'ipfs://x', 'gopher://a/'], () => null)
  expect({ asked, findings, checked }).toEqual({ asked: [], findings: [], checked: 3 })
  const missing = { severity: 'warning', message: 'not here' } as const
  expect((await run([url], () => null, { checkIpfs: async () => missing })).findings).toEqual([{ url, ...missing }])
})

test('ends when the signal is aborted', async () => {
  const stop = new AbortController()
  const reason = new Error('stopped')
  await expect(
    run(
      files(100),
      () => {
        stop.abort(reason)
        return null
      },
      { signal: stop.signal },
    ),
  ).rejects.toBe(reason)
})
