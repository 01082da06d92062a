import { MAX_FILE_FIELDS, type NftMetadata } from '../../api/metadata.ts'
import type { FileStorage } from '../storage/adapter.ts'
import { findStored, isIpfsUrl } from '../storage/ipfs-url.ts'

/**
 * So many files of one request are looked for while it is waited for, which is what a request of our own client may
 * name. A body has room for tens of thousands: those beyond, the pipeline finds.
 */
export const MAX_LOOKUPS = 1000 * MAX_FILE_FIELDS

/** Between two such slices everybody else gets a turn. */
const NFTS_AT_ONCE = 100

/**
 * For each NFT, key to path of its files where every one of them is stored here already, else null: they are to be
 * fetched. A file that many of them name is looked for once.
 */
export async function storedFiles(
  storage: FileStorage,
  nfts: readonly Pick<NftMetadata, 'file_fields'>[],
): Promise<(Record<string, string> | null)[]> {
  const looked = new Map<string, Promise<string | null>>()
  const find = async (url: string): Promise<string | null> => {
    const known = looked.get(url)
    if (known !== undefined) return known
    if (!isIpfsUrl(url) || looked.size >= MAX_LOOKUPS) return null
    const looking = findStored(storage, url, { ours: true }).then((found) => found?.place ?? null)
    looked.set(url, looking)
    return looking
  }
  const filesOf = async ({ file_fields }: Pick<NftMetadata, 'file_fields'>): Promise<Record<string, string> | null> => {
    const files: Record<string, string> = {}
    for (const { key, url } of file_fields) {
      const stored = await find(url)
      if (stored === null) return null
      files[key] = stored
    }
    return files
  }
  const all: (Record<string, string> | null)[] = []
  for (let at = 0; at < nfts.length; at += NFTS_AT_ONCE) {
    all.push(...(await Promise.all(nfts.slice(at, at + NFTS_AT_ONCE).map(filesOf))))
  }
  return all
}
