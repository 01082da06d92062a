import type { Log } from '../log.ts'
import { putBlocks } from '../store/block-table.ts'
import { listNftsOfDirectory } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { buildMintDirectory } from './metadata-file.ts'

const FILE_URI_PATTERN = /^ipfs:\/\/([a-z0-9]+)\/(0|[1-9][0-9]{0,2})\.json$/

/**
 * Returns the directory and the index of a metadata file from its URL in a token that gdn minted; null for any other
 * URL.
 */
export function parseFileUri(uri: string | null): { directory: string; index: number } | null {
  const [, directory, index] = FILE_URI_PATTERN.exec(uri ?? '') ?? []
  return directory === undefined ? null : { directory, index: Number(index) }
}

/**
 * Restores the blocks of a metadata directory that the database lost and that tokens on chain refer to.
 *
 * Call this function in the database transaction that records the tokens, after locking the collection. A single
 * transaction then records the directory's last token and stores the directory, so no crash can separate the two.
 */
export async function restoreDirectory(
  db: Db,
  { store, log }: { store: Pick<Store, 'publishTo'>; log: Log },
  { collectionId, directory }: { collectionId: string; directory: string },
): Promise<void> {
  const { cid, blocks } = await buildMintDirectory(await listNftsOfDirectory(db, collectionId, directory))
  if (cid === directory) return await putBlocks(db, blocks, store.publishTo)
  const logFields = { collection: collectionId, directory }
  log.error(logFields, 'metadata files of minted NFTs are missing: not all NFTs of their directory are in the database')
}
