import { MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { messageOf } from '../../core/errors.ts'
import { isContentUrl, isIpfsUrl } from '../../core/ipfs-url.ts'
import type { Fetcher } from '../../files/fetcher.ts'
import type { Log } from '../log.ts'
import type { FileStorage } from '../storage/adapter.ts'
import { findStored } from '../storage/find-stored.ts'
import type { FilePolicy } from './file-source.ts'

const FETCH_TIMEOUT_MS = 60_000

export interface FileSources {
  storage: FileStorage
  fetcher: Fetcher
  files: Pick<FilePolicy, 'allowHtml' | 'ipfs'>
  log: Log
}

/**
 * Fetches files of a minted NFT that the storage lacks, because the data directory may be as old as the restored
 * database. If a file can't be fetched, the error is only logged, because the token already exists.
 */
export async function storeFilesAgain(
  { storage, fetcher, files: { allowHtml, ipfs }, log }: FileSources,
  { id, metadata, files }: { id: string; metadata: string; files: string | null },
): Promise<void> {
  const stored = JSON.parse(files ?? '{}') as Record<string, string>
  for (const { key, url } of (JSON.parse(metadata) as NftMetadata).file_fields) {
    const place = stored[key]
    if (place === undefined || isContentUrl(place) || (await findStored(storage, place, { ownOnly: true })) !== null)
      continue
    const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS)
    try {
      if (isIpfsUrl(url)) {
        if (ipfs === null) throw new Error('no gateway is configured for IPFS files')
        await ipfs.fetchFile(url, storage, { allowHtml, maxBytes: MAX_FILE_BYTES }, signal)
        continue
      }
      const { content } = await fetcher.fetchFile(url, signal)
      const storedFile = await storage.add(content)
      if (storedFile.cid !== place) throw new Error('its content has changed')
    } catch (error) {
      log.error({ nft: id, file: place, error: messageOf(error) }, 'a file of a minted NFT is missing from the storage')
    }
  }
}
