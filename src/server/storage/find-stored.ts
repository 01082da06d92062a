import { partsOf, placeOf } from '../../core/ipfs-url.ts'
import type { FileStorage, OpenOptions, StoredFileContent } from './adapter.ts'

/** Returns the stored file of an ipfs URL, with its place; null if there is none. */
export async function findStored(
  storage: FileStorage,
  url: string,
  options?: OpenOptions,
): Promise<{ place: string; content: StoredFileContent } | null> {
  const place = placeOf(url)
  const { cid, path } = partsOf(place)
  const content = await storage.open(cid, path, options)
  return content?.type === 'file' ? { place, content } : null
}
