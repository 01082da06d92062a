import { partsOf, placeOf } from '../../core/ipfs-url.ts'
import type { FileStorage, OpenOptions, StoredFileContent } from './adapter.ts'

/** The stored file that an ipfs URL names, with its place; null where there is none. */
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
