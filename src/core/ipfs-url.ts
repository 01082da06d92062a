/** Returns whether a URL is an ipfs URL. Such a URL is looked up in the storage first. */
export const isIpfsUrl = (url: string): boolean => /^ipfs:\/\//i.test(url)

/** Returns whether a URL is an ipfs or ar URL, which has no web server as its origin. */
export const isContentUrl = (url: string): boolean => /^(?:ipfs|ar):\/\//i.test(url)

/** Returns the `<cid>[/<path>]` of an ipfs URL, with its path unchanged. */
export const ipfsPlace = (url: string): string =>
  url
    .replace(/^ipfs:\/\//i, '')
    .split('/')
    .filter((part) => part !== '')
    .join('/')

/** Splits a place into the CID and the decoded names of the path to the file. */
export function ipfsPathParts(place: string): { cid: string; path: string[] } {
  const [cid = '', ...path] = place.split('/')
  return { cid, path: path.map(decoded) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * Returns the URL of a file in the metadata.
 *
 * @param place `<cid>[/<path>]` of a stored file, or the original URL of a file that isn't stored here
 */
export const urlOfPlace = (place: string): string => (isContentUrl(place) ? place : `ipfs://${place}`)

/** Returns the CID of a file, whether it is stored here or not. Returns null if the file has none. */
export const cidOf = (place: string): string | null =>
  isContentUrl(place) && !isIpfsUrl(place) ? null : ipfsPathParts(ipfsPlace(place)).cid
