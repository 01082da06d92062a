import { decodeComponent } from './decode-component.ts'
import { trimSlashes } from './parse-url.ts'

/** Matches the text of a CID in a URL. */
export const CID_PATTERN = /Qm[1-9A-HJ-NP-Za-km-z]{44}|[bzfBF][A-Za-z0-9]{40,120}/

/** Returns whether a URL is an ipfs URL. gdn looks up such a URL in its storage first. */
export const isIpfsUrl = (url: string): boolean => /^ipfs:\/\//i.test(url)

/** Returns whether a URL is an ipfs or ar URL, whose content has no origin server. */
export const isContentUrl = (url: string): boolean => /^(?:ipfs|ar):\/\//i.test(url)

/** Returns the `<cid>[/<path>]` of an ipfs URL. Doesn't decode the path. */
export const ipfsPlace = (url: string): string =>
  url
    .replace(/^ipfs:\/\//i, '')
    .split('/')
    .filter((part) => part !== '')
    .join('/')

/** Returns the base URL of a gateway, which may be configured with `/ipfs` at its end. */
export const gatewayBase = (gateway: string): string => trimSlashes(gateway).replace(/\/ipfs$/, '')

/** Removes the additional `ipfs/` of older collections, whose URLs have the form `ipfs://ipfs/<cid>`. */
export const removeIpfsDirectory = (place: string): string => place.replace(/^ipfs\//, '')

/** Splits `<cid>[/<path>]` into the CID and the decoded names in the path. */
export function ipfsPathParts(place: string): { cid: string; path: string[] } {
  const [cid = '', ...path] = place.split('/')
  return { cid, path: path.map(decodeComponent) }
}

/**
 * Returns the URL with which metadata refers to a file.
 *
 * @param place `<cid>[/<path>]` of a stored file, or the original URL of a file that isn't stored here
 */
export const urlOfPlace = (place: string): string => (isContentUrl(place) ? place : `ipfs://${place}`)

/** Returns the CID of a file, whether the file is stored here or not. Returns null if the file has no CID. */
export const findCid = (place: string): string | null =>
  isContentUrl(place) && !isIpfsUrl(place) ? null : ipfsPathParts(ipfsPlace(place)).cid
