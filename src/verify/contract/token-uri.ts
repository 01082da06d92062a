import { decodeDataUrl } from '../../core/data-url.ts'
import { CID_PATTERN, isIpfsUrl, removeIpfsDirectory } from '../../core/ipfs-url.ts'
import { isRecord, parseJson } from '../../core/json.ts'

/** The location of a token's metadata. */
export type MetadataLocation =
  | { kind: 'data'; content: Uint8Array | null }
  /** `http` is the token URI if it is the HTTP URL of an IPFS gateway; null otherwise. */
  | { kind: 'ipfs'; url: string; http: string | null }
  | { kind: 'http'; url: string }
  | { kind: 'other'; scheme: string }

/** Matches a gateway path with a CID. A path without a CID after `/ipfs/` is an ordinary path on a website. */
const IPFS_PATH = new RegExp(`^/ipfs/((?:${CID_PATTERN.source})(?:/.*)?)$`)
const MAX_SCHEME_LENGTH = 20

/** Replaces `{id}` in an ERC-1155 URI with the ID as 64 lower-case hex digits. */
export const substituteId = (uri: string, id: bigint): string =>
  uri.replaceAll('{id}', id.toString(16).padStart(64, '0'))

/** Returns the location to which a token URI refers. */
export function parseMetadataPlace(uri: string): MetadataLocation {
  if (/^data:/i.test(uri)) return { kind: 'data', content: decodeDataUrl(uri) }
  if (isIpfsUrl(uri)) {
    const path = removeIpfsDirectory(uri.slice('ipfs://'.length))
    return { kind: 'ipfs', url: `ipfs://${path}`, http: null }
  }
  if (!/^https?:\/\//i.test(uri)) {
    return {
      kind: 'other',
      scheme: /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.slice(0, MAX_SCHEME_LENGTH).toLowerCase() ?? '',
    }
  }
  const path = URL.canParse(uri) ? IPFS_PATH.exec(new URL(uri).pathname)?.[1] : undefined
  return path === undefined ? { kind: 'http', url: uri } : { kind: 'ipfs', url: `ipfs://${path}`, http: uri }
}

/** The metadata of a token, or the reason why the content isn't metadata. */
export type ParsedMetadata = { metadata: Readonly<Record<string, unknown>> } | { problem: string }

export function parseMetadata(content: Uint8Array): ParsedMetadata {
  const value = parseJson(content)
  if (value === undefined) return { problem: 'is not JSON' }
  if (!isRecord(value)) return { problem: 'is not a JSON object' }
  try {
    JSON.stringify(value)
  } catch {
    return { problem: 'is nested too deeply' }
  }
  return { metadata: value }
}
