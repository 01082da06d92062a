import { createTransport } from '../../client/create-transport.ts'
import { type Transport, TransportError } from '../../client/transport.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Server } from '../../config/server.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { toGatewayUrl } from '../../verify/storage-reader.ts'
import { debugExchanges } from '../connect/debug-exchange.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { ImageError, MAX_IMAGE_BYTES } from './pixels.ts'

/** The URLs from which an NFT's image can be located. */
export interface NftWithImage {
  metadata_url: string | null
  /** The URL of the `image` file field in the request. */
  requestedUrl: string | null
}

const MAX_METADATA_BYTES = 1024 * 1024
/** Timeout in milliseconds. It is short, because the image is optional. */
const TIMEOUT_MS = 5000
/**
 * Number of consecutive requests without a response after which the gateway is skipped. A report can have thousands of
 * images.
 */
const MAX_FAILED_REQUESTS = 3

/** Reads images of NFTs. Reads only from an IPFS gateway, because other URLs could lead anywhere. */
export interface ImageReader {
  /**
   * Returns the gateway's URL of the image; null if the image isn't on IPFS. If the requested URL isn't on IPFS, reads
   * the stored metadata, because the mint copies a file from the web to storage.
   *
   * @throws ImageError if the gateway doesn't return the metadata
   */
  locate(nft: NftWithImage): Promise<string | null>
  /** @throws ImageError if the gateway doesn't return the file */
  read(url: string): Promise<Uint8Array>
  close(): Promise<void>
}

/** Returns the URL of the `image` file field in requested metadata, which may be any JSON value. */
export function findRequestedImage(metadata: unknown): string | null {
  const fields: unknown = isObject(metadata) ? metadata.file_fields : null
  const image = Array.isArray(fields) ? fields.find((field: unknown) => isObject(field) && field.key === 'image') : null
  return isObject(image) && typeof image.url === 'string' && image.url !== '' ? image.url : null
}

export async function createImageReader(
  { env, io, signals }: Deps,
  gateway: string,
  server: Pick<Server, 'isLoopback'> | null,
): Promise<ImageReader> {
  const proxy = server?.isLoopback === true ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  let silent = 0
  const get = async (url: string, maxBytes: number) => {
    if (silent >= MAX_FAILED_REQUESTS)
      throw new ImageError(`is not available at ${new URL(url).origin}: no response`, 'missing')
    silent++
    const { status, body } = await fetchFile(transport, url, maxBytes, signals.signal)
    silent = 0
    if (status === 200) return body
    const { origin } = new URL(url)
    const why =
      status === 404 || status === 410 ? `was not found at ${origin}` : `is not available at ${origin}: HTTP ${status}`
    throw new ImageError(why, 'missing')
  }
  return {
    async locate(nft) {
      const requested = nft.requestedUrl === null ? null : toGatewayUrl(gateway, nft.requestedUrl)
      if (requested !== null) return requested
      const stored = await readStoredImageUrl(nft, gateway, get)
      return stored === null ? null : toGatewayUrl(gateway, stored)
    },
    read: (url) => get(url, MAX_IMAGE_BYTES),
    close: () => transport.close(),
  }
}

type FetchBytes = (url: string, maxBytes: number) => Promise<Uint8Array>

/** Returns the image URL in the stored metadata. */
async function readStoredImageUrl(
  { metadata_url }: NftWithImage,
  gateway: string,
  get: FetchBytes,
): Promise<string | null> {
  const url = metadata_url === null ? null : toGatewayUrl(gateway, metadata_url)
  if (url === null) return null
  const metadata = parseJson(await get(url, MAX_METADATA_BYTES))
  if (metadata === null || typeof metadata !== 'object' || !('image' in metadata)) return null
  return typeof metadata.image === 'string' ? metadata.image : null
}

async function fetchFile(transport: Transport, url: string, maxBytes: number, signal: AbortSignal) {
  const headers = { 'user-agent': `gdn/${VERSION}` }
  try {
    return await transport.request({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS, maxBytes, signal })
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    throw new ImageError(`is not available at ${new URL(url).origin}: ${error.message}`, 'missing')
  }
}
