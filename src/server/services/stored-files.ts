import { MAX_FILE_FIELDS, type NftMetadata } from '../../api/metadata.ts'
import { isIpfsUrl } from '../../core/ipfs-url.ts'
import { findStored } from '../storage/find-stored.ts'
import type { ServiceDeps } from './services.ts'

/**
 * So many files of one request are looked for while it is waited for, which is what a request of our own client may
 * name. A body has room for tens of thousands: those beyond, the pipeline finds.
 */
export const MAX_LOOKUPS = 1000 * MAX_FILE_FIELDS

/** Between two such slices everybody else gets a turn. */
const NFTS_AT_ONCE = 100

/**
 * For each NFT, key to path of its files where every one of them is stored here already and checked, else null: they
 * are the pipeline's to fetch and to check. A file that many of them name is looked for once, and none is read.
 */
export async function storedFiles(
  { storage, checkedFiles }: Pick<ServiceDeps, 'storage' | 'checkedFiles'>,
  nfts: readonly Pick<NftMetadata, 'file_fields'>[],
): Promise<(Record<string, string> | null)[]> {
  const looked = new Map<string, Promise<string | null>>()
  const find = async (url: string): Promise<string | null> => {
    const known = looked.get(url)
    if (known !== undefined) return known
    if (!isIpfsUrl(url) || looked.size >= MAX_LOOKUPS) return null
    const looking = findStored(storage, url, { ours: true }).then((found) =>
      found !== null && checkedFiles.get(found.content.cid) ? found.place : null,
    )
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
