import type { NftMetadata } from '../../../api/metadata.ts'
import { messageOf } from '../../../core/errors.ts'
import type { Fetcher } from '../../../files/fetcher.ts'
import type { FileStorage } from '../../storage/adapter.ts'
import { isContentUrl, isIpfsUrl } from '../../storage/ipfs-url.ts'
import type { Log } from '../log.ts'

export interface FileSources {
  storage: FileStorage
  fetcher: Fetcher
  log: Log
}

/**
 * Fetches the files of a minted NFT that the storage lacks: the data dir may be as old as the restored database. A file
 * that can't be fetched is logged, since the token exists either way.
 */
export async function storeFilesAgain(
  { storage, fetcher, log }: FileSources,
  { id, metadata, files }: { id: string; metadata: string; files: string | null },
): Promise<void> {
  const stored = JSON.parse(files ?? '{}') as Record<string, string>
  for (const { key, url } of (JSON.parse(metadata) as NftMetadata).file_fields) {
    const cid = stored[key]
    if (cid === undefined || isContentUrl(cid) || (await storage.has(cid.split('/')[0] ?? ''))) continue
    try {
      if (isIpfsUrl(url)) throw new Error('it was uploaded')
      const { content } = await fetcher.fetchFile(url, AbortSignal.timeout(60_000))
      const again = await storage.add(content)
      if (again.cid !== cid) throw new Error('its content is another now')
    } catch (error) {
      log.error({ nft: id, cid, error: messageOf(error) }, 'a file of a minted NFT is missing in the storage')
    }
  }
}
