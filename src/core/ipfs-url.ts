/** Whether a URL names content of IPFS: it is looked up in the storage first. */
export const isIpfsUrl = (url: string): boolean => /^ipfs:\/\//i.test(url)

/** Whether a URL names content of IPFS or Arweave, which no web server is the origin of. */
export const isContentUrl = (url: string): boolean => /^(?:ipfs|ar):\/\//i.test(url)

/** `<cid>[/<path>]` of an ipfs URL, its path as it is spelt there. */
export const placeOf = (url: string): string =>
  url
    .replace(/^ipfs:\/\//i, '')
    .split('/')
    .filter((part) => part !== '')
    .join('/')

/** CID of a place, and the names that lead from it to the file. */
export function partsOf(place: string): { cid: string; path: string[] } {
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
 * The URL that stands in the metadata for a file.
 *
 * @param place where it is stored, `<cid>[/<path>]`; or a URL as it was given, of a file that is not stored here
 */
export const urlOfPlace = (place: string): string => (isContentUrl(place) ? place : `ipfs://${place}`)

/** The CID of a file, stored here or not; null for one that has none. */
export const cidOf = (place: string): string | null =>
  isContentUrl(place) && !isIpfsUrl(place) ? null : partsOf(placeOf(place)).cid
