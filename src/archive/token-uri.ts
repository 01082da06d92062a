import { ipfsPathParts, ipfsPlace, isIpfsUrl, removeIpfsDirectory } from '../core/ipfs-url.ts'
import { parseUrl } from '../core/parse-url.ts'
import { sha256Hex } from '../core/sha256-hex.ts'

/**
 * A URL that gdn can read, by kind. Spellings of the same ipfs URL have the same key, so its content is read only once.
 */
export type ReadableUrl =
  | { kind: 'ipfs'; key: string; cid: string; path: readonly string[] }
  | { kind: 'web'; key: string; url: string }
  | { kind: 'data'; key: string; url: string }

/** Maximum length of a URL that isn't a data URL. */
const MAX_URL_LENGTH = 8192
const TRANSACTION_ID = /^[\w-]{43}$/

/**
 * Parses a URL. Returns the reason if the URL can't be read.
 *
 * @param arweave base URL of an Arweave gateway, without a trailing slash
 */
export function parseReadableUrl(url: string, arweave: string): ReadableUrl | { problem: string } {
  if (/^data:/i.test(url)) {
    return { kind: 'data', key: `data:${sha256Hex(url)}`, url }
  }
  if (url === '') return { problem: 'the URL is empty' }
  if (url.length > MAX_URL_LENGTH) return { problem: `the URL is longer than ${MAX_URL_LENGTH} characters` }
  if (isIpfsUrl(url)) {
    const { cid, path } = ipfsPathParts(removeIpfsDirectory(ipfsPlace(url)))
    return { kind: 'ipfs', key: `ipfs://${[cid, ...path.map(encodeURIComponent)].join('/')}`, cid, path }
  }
  if (/^ar:\/\//i.test(url)) {
    const [id = '', ...path] = url.slice('ar://'.length).split('/')
    if (!TRANSACTION_ID.test(id))
      return { problem: 'the URL is not an ar URL: ar:// must be followed by a transaction ID' }
    return { kind: 'web', key: `ar://${[id, ...path].join('/')}`, url: [arweave, id, ...path].join('/') }
  }
  const protocol = parseUrl(url)?.protocol
  if (protocol === 'http:' || protocol === 'https:') return { kind: 'web', key: url, url }
  return { problem: 'the URL is not supported: it must be an ipfs, http(s), ar or data URL' }
}

/**
 * Returns a URL for an index or a message. Data URLs are shortened, because they can be megabytes long and their
 * content is archived anyway.
 */
export const shortenUrl = (url: string): string => {
  if (!/^data:/i.test(url)) return url.length > MAX_URL_LENGTH ? `${url.slice(0, 200)}…` : url
  const comma = url.indexOf(',')
  return `${url.slice(0, Math.min(comma < 0 ? url.length : comma + 1, 100))}(${url.length} characters)`
}
