import type { RetryClock } from '../client/retry-clock.ts'
import { retryRead } from '../client/retry-read.ts'
import type { Transport } from '../client/transport.ts'
import { GdnError } from '../core/errors.ts'
import { CID_PATTERN, gatewayBase } from '../core/ipfs-url.ts'
import { parseJson } from '../core/json.ts'

/**
 * The content of an ipfs URL. `missing` means that the content doesn't exist or isn't JSON. `failed` means that the
 * content is unknown.
 */
export type StoredContent =
  | { kind: 'json'; value: unknown }
  | { kind: 'missing'; message: string }
  | { kind: 'failed'; message: string }

/** Reads files from IPFS. */
export interface StorageReader {
  readJson(url: string): Promise<StoredContent>
  /** Reads the raw bytes of a file. */
  read(url: string): Promise<{ kind: 'bytes'; bytes: Uint8Array } | Exclude<StoredContent, { kind: 'json' }>>
}

interface StorageReaderOptions {
  /** URL of the gateway, such as `https://gateway.example`, with or without a trailing `/ipfs`. */
  gateway: string
  transport: Transport
  clock: RetryClock
  userAgent: string
  signal?: AbortSignal | undefined
  /** Maximum size of a file in bytes. Default: the maximum size of a response. */
  maxBytes?: number
}

const TIMEOUT_MS = 30_000
const IPFS_URL = new RegExp(`^ipfs://((?:${CID_PATTERN.source})(?:/[^?#\\p{Cs}]*)?)$`, 'u')

/** Returns the gateway URL for an ipfs URL, or null for any other URL. */
export function toGatewayUrl(gateway: string, ipfsUrl: string): string | null {
  const path = IPFS_URL.exec(ipfsUrl)?.[1]
  if (path === undefined) return null
  // The path in an untrusted token URI must not lead to other parts of the gateway.
  if (path.split('/').some((part) => part === '.' || part === '..')) return null
  return `${gatewayBase(gateway)}/ipfs/${path.split('/').map(encodeURIComponent).join('/')}`
}

/**
 * Creates a reader for a gateway. The reader supports only ipfs URLs, because other token URIs could point anywhere.
 */
export function createStorageReader(options: StorageReaderOptions): StorageReader {
  const { transport, clock, userAgent, signal, maxBytes } = options
  const { origin } = new URL(options.gateway)
  const read: StorageReader['read'] = async (ipfsUrl) => {
    const url = toGatewayUrl(options.gateway, ipfsUrl)
    if (url === null) return { kind: 'failed', message: `${JSON.stringify(ipfsUrl)} is not an ipfs URL` }
    try {
      const response = await retryRead(origin, clock, signal, () =>
        transport.request({
          method: 'GET',
          url,
          headers: { accept: '*/*', 'user-agent': userAgent },
          timeoutMs: TIMEOUT_MS,
          signal,
          maxBytes,
        }),
      )
      const { status } = response
      if (status === 404 || status === 410)
        return { kind: 'missing', message: `${ipfsUrl} is not available at ${origin}` }
      if (status !== 200) return { kind: 'failed', message: `${origin} returned HTTP ${status}` }
      return { kind: 'bytes', bytes: response.body }
    } catch (error) {
      if (signal?.aborted !== true && error instanceof GdnError) return { kind: 'failed', message: error.message }
      throw error
    }
  }
  return {
    read,
    async readJson(ipfsUrl) {
      if (toGatewayUrl(options.gateway, ipfsUrl) === null) {
        return { kind: 'failed', message: 'the token URI is not an ipfs URL' }
      }
      const result = await read(ipfsUrl)
      if (result.kind !== 'bytes') return result
      const value = parseJson(result.bytes)
      return value === undefined ? { kind: 'missing', message: `${ipfsUrl} is not JSON` } : { kind: 'json', value }
    },
  }
}
