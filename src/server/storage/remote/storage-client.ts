import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { backoffMs } from '../../../core/backoff.ts'
import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'
import { isTemporaryStorageStatus } from '../../../core/http-status.ts'
import { StorageUnavailableError } from '../adapter.ts'

const MAX_ATTEMPTS = 3
const PAUSES = { firstMs: 100, maxMs: 10_000 }
const CONNECT_MS = 5_000
/** Timeout in milliseconds until a response begins, and between two parts of the response. */
const SILENCE_MS = 30_000
const MAX_TEXT_BYTES = 1024 * 1024
/** Speed of the slowest supported upload, in bytes per millisecond. */
const BYTES_PER_MS = 32

export interface StorageRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  url: string
  headers?: Record<string, string>
  /** The body of the request. `open` is called for each attempt. */
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

/** An HTTP client for a storage service. It records why the last attempt failed. */
export interface StorageClient {
  /** Makes one attempt. The caller must read the body to its end, or abort it. */
  open(request: StorageRequest): Promise<StorageResponse>
  /** Makes one attempt, and reads the whole response. */
  askOnce(request: StorageRequest): Promise<StorageTextResponse>
  /** Sends an idempotent request, retries temporary errors, and reads the whole response. */
  ask(prepare: () => Promise<StorageRequest>): Promise<StorageTextResponse>
  /** Returns why the last attempt failed; null if it succeeded. */
  problem(): string | null
  close(): Promise<void>
}

/**
 * Returns the timeout in milliseconds of a request that sends this number of bytes. A request that only receives (null)
 * gets the timeout for 64 MiB.
 */
const maxDurationMs = (bytes: number | null) => 2 * SILENCE_MS + Math.ceil((bytes ?? 64 * 2 ** 20) / BYTES_PER_MS)

/**
 * Opens an HTTP client for a storage service.
 *
 * @param name the service's name in messages: `the bucket art (s3.example)`
 */
export function openStorageClient(name: string, userAgent: string, longestMs = maxDurationMs): StorageClient {
  const agent = new Agent({
    connect: { timeout: CONNECT_MS },
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
    connections: 32,
  })
  const closing = new AbortController()
  let problem: string | null = null

  const reportFailure = (cause: unknown) => {
    if (cause instanceof StorageUnavailableError || isLocalError(cause)) return cause
    problem = `${name} can't be reached: ${systemCode(cause) ?? messageOf(cause)}`
    return new StorageUnavailableError(problem, { cause })
  }

  const open = async ({ method, url, headers = {}, body }: StorageRequest): Promise<StorageResponse> => {
    const size = body?.size ?? null
    const { statusCode, ...response } = await request(url, {
      method,
      headers: {
        ...headers,
        'user-agent': userAgent,
        ...(size === null ? {} : { 'content-length': String(size) }),
      },
      body: body === undefined ? null : Readable.from(body.open(), { objectMode: false }),
      dispatcher: agent,
      // Don't combine the signal with another one. On Node.js 20, a signal that `AbortSignal.any` derives from a
      // timeout may never fire after a garbage collection. `close` destroys the agent, which also aborts this request.
      signal: AbortSignal.timeout(longestMs(size)),
    })
    problem = isTemporaryStorageStatus(statusCode) ? `${name} returned HTTP ${statusCode}` : null
    return { status: statusCode, headers: response.headers, body: convertErrors(response.body) }
  }

  /** Yields the body. Converts errors to this client's errors. */
  async function* convertErrors(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      throw reportFailure(error)
    }
  }

  return {
    open: (storageRequest) =>
      open(storageRequest).catch((error: unknown) => {
        throw reportFailure(error)
      }),

    async askOnce(storageRequest) {
      try {
        const { status, headers, body } = await open(storageRequest)
        return { status, headers, body: await collectBody(body) }
      } catch (error) {
        throw reportFailure(error)
      }
    },

    async ask(prepare) {
      for (let attempt = 1; ; attempt++) {
        const last = attempt >= MAX_ATTEMPTS || closing.signal.aborted
        try {
          const { status, headers, body } = await open(await prepare())
          const response = { status, headers, body: await collectBody(body) }
          if (last || !isTemporaryStorageStatus(status)) return response
        } catch (error) {
          if (last || isLocalError(error)) throw reportFailure(error)
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

/**
 * Returns whether an error is local: it comes from this machine's disk, a secret that can't be read, or a bug in gdn.
 */
const isLocalError = (error: unknown) =>
  (error instanceof GdnError && !(error instanceof StorageUnavailableError)) ||
  error instanceof RangeError ||
  error instanceof TypeError ||
  ['ENOENT', 'ENOSPC', 'EIO', 'EACCES', 'EMFILE'].includes(systemCode(error) ?? '')

/**
 * Reads a whole body.
 *
 * @throws StorageUnavailableError if it is longer than `maxBytes`
 */
export async function collectBody(body: AsyncIterable<Uint8Array>, maxBytes = MAX_TEXT_BYTES): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > maxBytes) throw new StorageUnavailableError('the response is too long')
    parts.push(part)
  }
  return Buffer.concat(parts)
}
