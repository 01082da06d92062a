import { ipfsPathParts, ipfsPlace } from '../../core/ipfs-url.ts'
import type { FileStorage, OpenOptions, StoredFileContent } from './adapter.ts'

/** Returns the stored file of an `ipfs:` URL and its IPFS path; null if the file isn't stored. */
export async function findStored(
  storage: FileStorage,
  url: string,
  options?: OpenOptions,
): Promise<{ place: string; content: StoredFileContent } | null> {
  const place = ipfsPlace(url)
  const { cid, path } = ipfsPathParts(place)
  const content = await storage.open(cid, path, options)
  return content?.type === 'file' ? { place, content } : null
}
