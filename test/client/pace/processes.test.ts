import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { bootClock } from '../../../src/core/time.ts'
import { bundleProcess } from '../../helpers/bundle-process.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { listenLocally } from '../../helpers/http-server.ts'
import { seededFrom, seededRandom } from '../../helpers/seed.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const SOAK = process.env.GDN_SOAK === '1'
const PROCESSES = 8
const RUN_MS = SOAK ? 600_000 : 7_000
/** Requests whose distances are measured. */
const SETTLED = SOAK ? 100 : 10

let folder: string
let script: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-paced-', whenFileDone)
  script = join(folder, 'paced.mjs')
  await bundleProcess(new URL('./paced-process.ts', import.meta.url), script, import.meta.url)
})

/** Returns 429 for the third request that arrives within any second. */
async function limitedServer(random: () => number) {
  const arrivals: { at: number; agent: string }[] = []
  let refused = 0
  const server = createServer((request, response) => {
    const at = performance.now()
    const before = arrivals.filter((arrival) => at - arrival.at <= 1000).length
    arrivals.push({ at, agent: String(request.headers['user-agent']) })
    if (before >= 2) refused++
    request.resume()
    request.on('end', async () => {
      await pause(random() * 40)
      response.writeHead(before >= 2 ? 429 : 200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return {
    url,
    arrivals,
    refused: () => refused,
  }
}

/** Starts processes with one key, each with a seed of its own, and restarts those that were killed. */
function herd(url: string, paceDir: string, random: () => number) {
  const children: ChildProcess[] = []
  const trouble: string[] = []
  const start = (index: number) => {
    const seed = String(Math.floor(random() * 2 ** 31))
    const child = spawn(process.execPath, [script, url, paceDir, index % 2 === 0 ? 'single' : 'bulk', seed], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout?.on('data', (text) => String(text).includes('trouble') && trouble.push(String(text)))
    child.on('exit', (code) => code !== null && trouble.push(`exit code ${code}`))
    children[index] = child
  }
  for (let index = 0; index < PROCESSES; index++) start(index)
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  return { children, start, trouble }
}

test('processes of one boot read the same clock', () => {
  const before = bootClock()
  const script = 'process.stdout.write(String(Number(process.hrtime.bigint()) / 1e6))'
  const there = Number(execFileSync(process.execPath, ['-e', script]))
  expect(there).toBeGreaterThan(before)
  expect(there).toBeLessThan(bootClock())
})

test('8 processes with one key, some killed or stopped, never have three requests arrive within a second', async () => {
  const { random, seed } = seededRandom('killed and stopped processes')
  // The latencies have a generator of their own, because the order of the requests differs between runs.
  const server = await limitedServer(seededFrom(seed))
  const paceDir = join(folder, 'pace')
  const { children, start, trouble } = herd(server.url, paceDir, random)
  const began = performance.now()
  let kills = 0
  let stops = 0
  // Where a start takes seconds, most processes die before they send.
  while (performance.now() - began < RUN_MS || server.arrivals.length < 2) {
    await pause(50 + random() * 350)
    const index = Math.floor(random() * PROCESSES)
    const child = children[index]
    if (random() < 0.4) {
      child?.kill('SIGKILL')
      kills++
      start(index)
    } else {
      child?.kill('SIGSTOP')
      stops++
      const after = random() < 0.2 ? 3000 + random() * 3000 : random() * 1000
      void pause(after).then(() => child?.kill('SIGCONT'))
    }
  }
  expect(trouble).toEqual([])
  expect(server.refused()).toBe(0)
  expect(kills + stops).toBeGreaterThan(3)
  // Two per second were possible.
  if (SOAK) expect(server.arrivals.length).toBeGreaterThan(RUN_MS / 1000 / 3)
  expect(await readFile(join(paceDir, 'pace.db'), 'latin1')).not.toContain('the-key')
  process.stdout.write(`  ${server.arrivals.length} requests, ${kills} kills, ${stops} stops in ${RUN_MS / 1000} s\n`)
})

test('8 processes that run freely use the full rate, and each of them makes progress', async () => {
  const { random, seed } = seededRandom('paced processes')
  const server = await limitedServer(seededFrom(seed))
  const { trouble } = herd(server.url, join(folder, 'fair'), random)
  const agents = () => new Set(server.arrivals.map(({ agent }) => agent))
  while (agents().size < PROCESSES) {
    expect(trouble).toEqual([])
    await pause(20)
  }
  const first = server.arrivals.length
  // A slot is free again a second after the response, which takes up to 40 ms here. A busy machine is slower at times.
  const median = () => {
    const settled = server.arrivals.slice(first).slice(-SETTLED)
    if (settled.length < SETTLED) return Number.POSITIVE_INFINITY
    const gaps = settled.slice(2).map(({ at }, i) => at - (settled[i]?.at ?? 0))
    return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0
  }
  await expect.poll(median, { timeout: RUN_MS + 80_000 }).toBeLessThan(1250)
  expect(trouble).toEqual([])
  expect(server.refused()).toBe(0)
  process.stdout.write(`  a place is used again after ${median().toFixed(0)} ms\n`)
})
