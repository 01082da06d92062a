import { GdnError } from '../../../../core/errors.ts'
import type { Fetcher } from '../../../../files/fetcher.ts'
import { type ParsedMetadata, parseMetadata, parseMetadataPlace } from '../../../../verify/contract/token-uri.ts'
import { createStorageReader } from '../../../../verify/storage-reader.ts'
import { VERSION } from '../../../version.ts'
import type { GatewayAccess } from './gateway-access.ts'

const MAX_METADATA_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 15_000

/** Creates a fetcher for URLs from contracts. It never connects to private addresses. */
const createUrlFetcher = async (): Promise<Fetcher> =>
  (await import('../../../../files/fetcher.ts')).createFetcher({
    allowPrivate: false,
    userAgent: `gdn/${VERSION}`,
    maxBytes: MAX_METADATA_BYTES,
    timeoutMs: TIMEOUT_MS,
  })

/**
 * Reads the metadata at a token URI: from the URI itself, from an IPFS gateway, or from the web. If the metadata can't
 * be read, returns the reason, such as `is in a malformed data URL`.
 */
export async function readTokenMetadata(
  uri: string,
  access: GatewayAccess | null,
  signal: AbortSignal,
  createFetcher: () => Promise<Pick<Fetcher, 'fetchFile' | 'close'>> = createUrlFetcher,
): Promise<ParsedMetadata> {
  const place = parseMetadataPlace(uri)
  if (place.kind === 'data') {
    return place.content === null ? { problem: 'is in a malformed data URL' } : parseMetadata(place.content)
  }
  if (place.kind === 'other') {
    const scheme = place.scheme === '' ? 'has no scheme' : `has the scheme ${place.scheme}`
    return { problem: `can't be read, because its URI ${scheme}: gdn reads only data, ipfs, https and http URIs` }
  }
  if (place.kind === 'http' || (access === null && place.http !== null)) {
    return await fetchMetadata(place.kind === 'http' ? place.url : (place.http ?? ''), signal, createFetcher)
  }
  if (access === null) return { problem: "can't be read: no IPFS gateway is specified (--gateway)" }
  const file = await createStorageReader({ ...access, maxBytes: MAX_METADATA_BYTES }).read(place.url)
  return file.kind === 'bytes' ? parseMetadata(file.bytes) : { problem: `can't be read: ${file.message}` }
}

async function fetchMetadata(
  url: string,
  signal: AbortSignal,
  createFetcher: () => Promise<Pick<Fetcher, 'fetchFile' | 'close'>>,
): Promise<ParsedMetadata> {
  const fetcher = await createFetcher()
  try {
    const { content } = await fetcher.fetchFile(url, signal)
    const parts: Uint8Array[] = []
    for await (const part of content) parts.push(part)
    return parseMetadata(Buffer.concat(parts))
  } catch (error) {
    if (error instanceof GdnError && !signal.aborted) return { problem: `can't be read: ${error.message}` }
    throw error
  } finally {
    await fetcher.close()
  }
}
