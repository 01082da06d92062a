import type { FileStorage, OpenOptions } from './adapter.ts'

/** Whether a URL is one of IPFS: it is looked up in the store and never fetched. */
export function isIpfsUrl(url: string): boolean {
  return /^ipfs:\/\//i.test(url)
}

/** `<cid>` or `<cid>/<path>` of the stored file that an ipfs URL names, or null where there is none. */
export async function findStored(storage: FileStorage, url: string, options?: OpenOptions): Promise<string | null> {
  const [cid = '', ...path] = url
    .replace(/^ipfs:\/\//i, '')
    .split('/')
    .filter((part) => part !== '')
  const content = await storage.open(cid, path, options)
  return content?.type === 'file' ? [cid, ...path].join('/') : null
}
