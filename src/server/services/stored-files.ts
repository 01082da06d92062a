import { MAX_FILE_FIELDS, type NftMetadata } from '../../api/metadata.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { ipfsPlace, isIpfsUrl } from '../../core/ipfs-url.ts'
import { findStored } from '../storage/find-stored.ts'
import type { ServiceDeps } from './services.ts'

/**
 * Maximum number of files that are looked up while a request waits. The gdn CLI sends at most this many, but a body can
 * contain tens of thousands. The pipeline looks up the rest.
 */
export const MAX_LOOKUPS = 1000 * MAX_FILE_FIELDS

/** Number of NFTs that are processed before other work runs. */
const NFTS_PER_BATCH = 100

/**
 * Returns the IPFS paths of each NFT's files if all of them are in the backend's storage and checked. Otherwise,
 * returns null for the NFT, and the pipeline fetches and checks its files. A file that many NFTs share is looked up
 * only once. No file is read.
 */
export async function findStoredPlaces(
  { storage, checkedFiles }: Pick<ServiceDeps, 'storage' | 'checkedFiles'>,
  nfts: readonly Pick<NftMetadata, 'file_fields'>[],
): Promise<(Record<string, string> | null)[]> {
  const lookups = new Map<string, Promise<string | null>>()
  const find = async (url: string): Promise<string | null> => {
    const earlierLookup = lookups.get(url)
    if (earlierLookup !== undefined) return earlierLookup
    if (!isIpfsUrl(url) || lookups.size >= MAX_LOOKUPS) return null
    const place = ipfsPlace(url)
    // Content is never removed, so checked content is still stored.
    if (checkedFiles.get(place)) return place
    const lookup = findStored(storage, url, { ownOnly: true }).then((file) =>
      file !== null && checkedFiles.get(file.content.cid) ? file.place : null,
    )
    lookups.set(url, lookup)
    return lookup
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
  for (const chunk of chunksOf(nfts, NFTS_PER_BATCH)) {
    all.push(...(await Promise.all(chunk.map(filesOf))))
  }
  return all
}
