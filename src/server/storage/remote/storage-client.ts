import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { backoffMs } from '../../../core/backoff.ts'
import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'
import { StorageUnavailableError } from '../adapter.ts'

const ATTEMPTS = 3
const PAUSES = { firstMs: 100, maxMs: 10_000 }
const CONNECT_MS = 5_000
/** Timeout between two pieces of a response, and until it begins. */
const SILENCE_MS = 30_000
const MAX_TEXT_BYTES = 1024 * 1024
/** The slowest supported upload: 32 bytes a millisecond. */
const BYTES_PER_MS = 32

export interface StorageRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  url: string
  headers?: Record<string, string>
  /** Opened again for each attempt. */
  body?: { size: number; open(): AsyncIterable<Uint8Array> } | undefined
}

export interface StorageResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: AsyncIterable<Uint8Array>
}

export interface StorageTextResponse {
  status: number
  headers: StorageResponse['headers']
  body: Buffer
}

/** HTTP client of a storage service, with the last problem that it had. */
export interface StorageClient {
  /** Makes one attempt; the caller reads the body to its end, or aborts it. */
  open(request: StorageRequest): Promise<StorageResponse>
  /** Makes one attempt, and reads the whole response. */
  askOnce(request: StorageRequest): Promise<StorageTextResponse>
  /** Sends an idempotent request, retries temporary errors, and reads the whole response. */
  ask(prepare: () => Promise<StorageRequest>): Promise<StorageTextResponse>
  /** Returns why the last attempt failed; null if it succeeded. */
  problem(): string | null
  close(): Promise<void>
}

const isPassing = (status: number) => status === 429 || status >= 500

/** Timeout of one request in milliseconds, by the bytes that it sends; for 64 MiB if it receives some. */
const longest = (bytes: number | null) => 2 * SILENCE_MS + Math.ceil((bytes ?? 64 * 2 ** 20) / BYTES_PER_MS)

/** @param name the service in messages: `the bucket art (s3.example)` */
export function openStorageClient(name: string, userAgent: string, longestMs = longest): StorageClient {
  const agent = new Agent({
    connect: { timeout: CONNECT_MS },
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
    connections: 32,
  })
  const closing = new AbortController()
  let problem: string | null = null

  const failed = (cause: unknown) => {
    if (cause instanceof StorageUnavailableError || isOwn(cause)) return cause
    problem = `${name} can't be reached: ${systemCode(cause) ?? messageOf(cause)}`
    return new StorageUnavailableError(problem, { cause })
  }

  const open = async ({ method, url, headers = {}, body }: StorageRequest): Promise<StorageResponse> => {
    const size = body?.size ?? null
    const { statusCode, ...answer } = await request(url, {
      method,
      headers: {
        ...headers,
        'user-agent': userAgent,
        ...(size === null ? {} : { 'content-length': String(size) }),
      },
      body: body === undefined ? null : Readable.from(body.open(), { objectMode: false }),
      dispatcher: agent,
      // Not combined: on Node 20 a garbage collection ends AbortSignal.any of it. Closing ends the agent, and with it
      // this.
      signal: AbortSignal.timeout(longestMs(size)),
    })
    problem = isPassing(statusCode) ? `${name} returned HTTP ${statusCode}` : null
    return { status: statusCode, headers: answer.headers, body: cut(answer.body) }
  }

  /** Yields the body, with our error messages. */
  async function* cut(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      throw failed(error)
    }
  }

  return {
    async open(lineRequest) {
      try {
        return await open(lineRequest)
      } catch (error) {
        throw failed(error)
      }
    },

    async askOnce(lineRequest) {
      try {
        const { status, headers, body } = await open(lineRequest)
        return { status, headers, body: await collect(body) }
      } catch (error) {
        throw failed(error)
      }
    },

    async ask(prepare) {
      for (let attempt = 1; ; attempt++) {
        const last = attempt >= ATTEMPTS || closing.signal.aborted
        try {
          const { status, headers, body } = await open(await prepare())
          const answer = { status, headers, body: await collect(body) }
          if (last || !isPassing(status)) return answer
        } catch (error) {
          if (last || isOwn(error)) throw failed(error)
        }
        await delay(backoffMs(attempt, PAUSES), undefined, {
          signal: closing.signal,
        }).catch(() => {})
      }
    },

    problem: () => problem,

    async close() {
      closing.abort()
      await agent.destroy()
    },
  }
}

/** Whether an error is local: this machine's disk, a secret that can't be read, or a bug of gdn. */
const isOwn = (error: unknown) =>
  (error instanceof GdnError && !(error instanceof StorageUnavailableError)) ||
  error instanceof RangeError ||
  error instanceof TypeError ||
  ['ENOENT', 'ENOSPC', 'EIO', 'EACCES', 'EMFILE'].includes(systemCode(error) ?? '')

/** Reads a whole body, which must not exceed the limit of a text. */
export async function collect(body: AsyncIterable<Uint8Array>, maxBytes = MAX_TEXT_BYTES): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > maxBytes) throw new StorageUnavailableError('the response is too long')
    parts.push(part)
  }
  return Buffer.concat(parts)
}
