/** `ipfs://<cid>/<path>` in its parts, or null for another URL. The path has no slash at its ends. */
export function splitIpfsUrl(url: string): { cid: string; path: string } | null {
  const match = /^ipfs:\/\/([^/]+)\/?(.*?)\/?$/.exec(url)
  return match === null ? null : { cid: match[1] ?? '', path: match[2] ?? '' }
}
