import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { BatchSummary } from '../../src/batch/types.ts'
import type { RequestOf } from '../../src/client/api-client.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'

const ROWS = 200
const KILLS = 12

let folder: string
let script: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-kill-'))
  script = join(folder, 'batch.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('./batch-process.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
  })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let http: Server | null = null
afterEach(() => http?.close())

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The fake over HTTP, with a line that takes a few milliseconds each way. */
async function listen(api: FakeHostedApi, idempotency: boolean): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      await pause(Math.random() * 10)
      const endpoint = request.url?.split('/').at(-1) ?? ''
      const body = Buffer.concat(chunks)
      const key = String(request.headers['idempotency-key'])
      const answer =
        endpoint === 'getnfts' || endpoint === 'getnftgdnids'
          ? { status: 200, json: await api.call(endpoint, JSON.parse(body.toString()) as RequestOf<typeof endpoint>) }
          : await api.send(endpoint, body, { idempotencyKey: key, run: String(request.headers['gdn-run']) })
      await pause(Math.random() * 10)
      if (!('json' in answer)) return response.destroy()
      const headers = { 'content-type': 'application/json', ...(idempotency ? { 'idempotency-supported': 'yes' } : {}) }
      return response.writeHead(answer.status, headers).end(JSON.stringify(answer.json))
    })
  })
  http = server
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs the batch in a process of its own; with a time, kills it then. */
function life(url: string, stateDir: string, killAfter: number | null): Promise<BatchSummary | 'killed' | 'finished'> {
  const child = spawn(process.execPath, [script, url, stateDir, String(ROWS)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const timer = killAfter === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter)
  return new Promise((resolve, reject) => {
    child.on('close', (_code, signal) => {
      clearTimeout(timer)
      if (signal === 'SIGKILL') resolve('killed')
      else if (errors.includes('is finished')) resolve('finished')
      else if (errors !== '') reject(new Error(errors))
      else resolve(JSON.parse(output) as BatchSummary)
    })
  })
}

test.each([
  ['that honours Idempotency-Key: every row once', true],
  ['that does not: no row twice, and what is not known is named', false],
])(`a batch whose process is killed ${KILLS} times, on a server %s`, async (_what, idempotency) => {
  const stateDir = await mkdtemp(join(folder, 'state-'))
  const api = new FakeHostedApi({ idempotency, nullUntilDeployed: true, pollsToDeploy: 1 })
  const url = await listen(api, idempotency)
  let kills = 0
  let end: Awaited<ReturnType<typeof life>> = 'killed'
  for (let turn = 0; turn < KILLS && end === 'killed'; turn++) {
    end = await life(url, stateDir, 150 + Math.random() * 250)
    if (end === 'killed') kills++
  }
  if (end === 'killed') end = await life(url, stateDir, null)
  const counts = [...api.countsByTitle().values()]
  expect(counts.filter((count) => count > 1)).toEqual([])
  expect(kills).toBeGreaterThan(0)
  if (end === 'killed' || end === 'finished') {
    expect(counts).toHaveLength(ROWS)
    return
  }
  expect(end.counts.deployed + end.counts.unknown).toBe(ROWS)
  expect(counts.length).toBeGreaterThanOrEqual(end.counts.deployed)
  if (idempotency) expect(end).toMatchObject({ exitCode: 0, counts: { deployed: ROWS } })
  else {
    // What the server took is told, and what it didn't is told as that.
    expect(end.counts.deployed).toBe(counts.length)
    expect(end.absentRows).toHaveLength(ROWS - counts.length)
    expect(end.exitCode).toBe(counts.length < ROWS ? 9 : 0)
  }
})
