import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Backend, type BackendOptions, startBackend } from '../../src/server/main.ts'

export interface Answer {
  status: number
  headers: Headers
  json: any
}

export interface TestBackend extends Backend {
  /** POST of JSON to a path, with the local account's key unless told otherwise. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string): Promise<Response>
  log: string[]
}

export async function freshDataDir(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'gdn-backend-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A backend in this process on a free port, rate limits off. */
export async function startTestBackend(dataDir: string, options: Partial<BackendOptions> = {}): Promise<TestBackend> {
  const log: string[] = []
  const backend = await startBackend({
    host: '127.0.0.1',
    port: 0,
    dataDir,
    allowPrivateFiles: true,
    rateLimits: false,
    allowedHosts: [],
    version: '0.0.0-test',
    logLevel: 'debug',
    logStream: { write: (line) => void log.push(line) },
    ...options,
  })
  return {
    ...backend,
    log,
    async post(path, body, headers = {}) {
      const response = await fetch(backend.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey.reveal(), ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) }
    },
    get: (path) => fetch(backend.url + path),
  }
}

/** Asks again until the answer is right, or gives the last one after `timeoutMs`. */
export async function until<T>(ask: () => Promise<T>, right: (answer: T) => boolean, timeoutMs = 20_000): Promise<T> {
  const end = Date.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (right(answer) || Date.now() > end) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
