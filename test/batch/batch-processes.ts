import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import type { BatchSummary } from '../../src/batch/types.ts'
import type { RequestOf } from '../../src/client/api-client.ts'
import type { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { seededFrom } from '../helpers/seed.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Bundles `batch-process.ts`, or another process, into a folder. Returns the path of the script. */
export async function buildBatchProcess(
  folder: string,
  entry = new URL('./batch-process.ts', import.meta.url),
): Promise<string> {
  const script = join(folder, 'batch.mjs')
  await build({
    entryPoints: [fileURLToPath(entry)],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
    },
  })
  return script
}

/**
 * Serves the fake over HTTP until the test ends, with a latency of some milliseconds each way. Returns its URL.
 *
 * @param seed determines the latencies
 */
export async function listen(api: FakeHostedApi, idempotency: boolean, seed: number): Promise<string> {
  const random = seededFrom(seed)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      await pause(random() * 10)
      const endpoint = request.url?.split('/').at(-1) ?? ''
      const body = Buffer.concat(chunks)
      const key = String(request.headers['idempotency-key'])
      const answer =
        endpoint === 'getnfts' || endpoint === 'getnftgdnids'
          ? { status: 200, json: await api.call(endpoint, JSON.parse(body.toString()) as RequestOf<typeof endpoint>) }
          : !endpoint.startsWith('createnft')
            ? // The request with which a client checks whether keys are honored.
              { status: 404, json: { error: { title: 'Not Found', message: 'no such NFT' } } }
            : await api.send(endpoint, body, { idempotencyKey: key, run: String(request.headers['gdn-run']) })
      await pause(random() * 10)
      if (!('json' in answer)) return response.destroy()
      const headers = { 'content-type': 'application/json', ...(idempotency ? { 'idempotency-supported': 'yes' } : {}) }
      return response.writeHead(answer.status, headers).end(JSON.stringify(answer.json))
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return url
}

/**
 * Runs the script to its end, or kills it with SIGKILL: after this many milliseconds, or when the callback is called.
 */
export function runBatchProcess(
  argv: readonly string[],
  killAfter: number | ((kill: () => void) => void) | null,
): Promise<BatchSummary | { error: string } | 'killed'> {
  const child = spawn(process.execPath, argv, {
    // The script is in a separate folder, and needs the SQLite of this one.
    env: { ...process.env, NODE_PATH: MODULES },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const kill = () => void child.kill('SIGKILL')
  const timer = typeof killAfter === 'number' ? setTimeout(kill, killAfter) : undefined
  if (typeof killAfter === 'function') killAfter(kill)
  return new Promise((resolve, reject) => {
    child.on('close', (_code, signal) => {
      clearTimeout(timer)
      if (signal === 'SIGKILL') resolve('killed')
      else if (errors !== '') reject(new Error(errors))
      else resolve(JSON.parse(output))
    })
  })
}
