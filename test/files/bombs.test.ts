/** @module-tag slow */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FetcherOptions } from '../../src/files/exchange.ts'
import { FetchFailure } from '../../src/files/failure.ts'
import { createFetcher } from '../../src/files/fetcher.ts'
import { createProber } from '../../src/files/prober.ts'
import { memoryInUse } from '../helpers/hostile.ts'
import { report } from '../helpers/seed.ts'

/** The production value in the long form. */
const TIMEOUT_MS = process.env.GDN_SOAK === '1' ? 30_000 : 500
/** The production value. */
const MAX_BYTES = 64 * 2 ** 20
/** Growth of the whole process: includes bytes that are read but not consumed, and garbage not yet collected. */
const MAX_MIB = 160

let child: ChildProcess
let port = 0
let bombs: readonly string[] = []

beforeAll(async () => {
  child = spawn(process.execPath, [fileURLToPath(new URL('../helpers/bomb-server.mjs', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.stdout === null) throw new Error('no stdout')
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  ;({ port, bombs } = JSON.parse(line))
})
afterAll(() => void child?.kill('SIGKILL'))

interface Figures {
  outcome: unknown
  /** CPU time of the process. */
  ms: number
  bytes: number
  /** Peak growth of the process. */
  mib: number
}

async function measure(work: (count: (bytes: number) => void) => Promise<void>): Promise<Figures> {
  memoryInUse()
  const before = process.memoryUsage().rss
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 10)
  const since = process.cpuUsage()
  let bytes = 0
  const outcome = await work((count) => {
    bytes += count
  }).then(
    () => 'done',
    (error: unknown) => error,
  )
  clearInterval(timer)
  const { user, system } = process.cpuUsage(since)
  return { outcome, ms: Math.round((user + system) / 1000), bytes, mib: Math.round((peak - before) / 2 ** 20) }
}

test('every bomb fails with a reason, in bounded time and memory', async () => {
  expect(bombs.length).toBeGreaterThan(20)
  const options: FetcherOptions = { allowPrivate: true, userAgent: 'gdn', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
  const fetcher = createFetcher(options)
  const rows: Record<string, object> = {}
  for (const name of bombs) {
    const { outcome, ms, bytes, mib } = await measure(async (count) => {
      const { content } = await fetcher.fetchFile(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`)
      for await (const part of content) count(part.length)
    })
    expect([name, outcome]).toEqual([name, expect.any(FetchFailure)])
    const { message, isLasting } = outcome as FetchFailure
    rows[name] = {
      ms,
      'MiB read': Math.round(bytes / 2 ** 20),
      'MiB grown': mib,
      isLasting: isLasting,
      said: message.split('/').at(-1),
    }
    expect([name, bytes <= MAX_BYTES, ms < TIMEOUT_MS * 2 + 1000, mib < MAX_MIB]).toEqual([name, true, true, true])
  }
  for (const [name, figures] of Object.entries(rows)) report({ bomb: name, ...figures })
  await fetcher.close()
})

test('probing all bombs at once takes bounded time and memory', async () => {
  const prober = createProber({ allowPrivate: true, userAgent: 'gdn', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES })
  const { ms, mib } = await measure(async () => {
    const look = (name: string) => prober.probe(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`).catch(() => {})
    await Promise.all(bombs.map(look))
  })
  report({ 'bombs looked at at once': bombs.length, ms, 'MiB grown': mib })
  expect([ms < TIMEOUT_MS * 4 + 2000, mib < MAX_MIB]).toEqual([true, true])
  await prober.close()
})
