import { ZERO_ADDRESS } from '../../api/address.ts'
import { isoTime } from '../../core/time.ts'
import { listVisibleCollections } from '../store/explorer-collections.ts'
import { findVisibleNft, neighbors } from '../store/explorer-nfts.ts'
import { finalTransfers, resolveReceiverName } from '../store/transfers.ts'
import { toCollectionRef } from './collections.ts'
import { type ExplorerDeps, parseMetadata, toFileFields, type Viewer } from './explorer.ts'
import { findCover, readMedia } from './media.ts'
import { readShuffle } from './shuffle.ts'
import { listNftTransactions, readHistory, toExplorerTransaction } from './transactions.ts'
import type { NftDetails } from './types.ts'

/** Returns the details of an NFT. Returns null if the viewer may not see an NFT with this ID. */
export async function showNft(explorer: ExplorerDeps, { accountId }: Viewer, id: string): Promise<NftDetails | null> {
  const { db, media } = explorer
  const row = await findVisibleNft(db, accountId, id)
  if (row === undefined) return null
  const metadata = parseMetadata(row.present_metadata)
  const fields = toFileFields(metadata, row.present_files)
  const [[collection], transactions, files, neighborIds, transfersById] = await Promise.all([
    listVisibleCollections(db, accountId, [row.collection_id]),
    listNftTransactions(explorer, row),
    Promise.all(fields.map((field) => readMedia(media, field))),
    neighbors(db, row),
    finalTransfers(db, [row.id]),
  ])
  if (collection === undefined) return null
  return {
    nft_gdn_id: row.id,
    token_id: row.token_id,
    title: metadata.title,
    status: row.status,
    error: row.error,
    owner: row.owner ?? row.receiver,
    burned: row.owner === ZERO_ADDRESS,
    revision: row.revision,
    // The metadata is outdated after restoring a backup that is older than the update.
    is_outdated: row.revision > 0 && row.update_id === null,
    is_dynamic: row.dynamic === 1 || row.collection_dynamic === 1,
    is_frozen: row.frozen === 1 || collection.frozen === 1,
    image: await findCover(media, fields),
    collection: toCollectionRef(collection),
    step: row.step,
    next_attempt_at: row.step === 'files' && row.attempts > 0 ? isoTime(row.next_attempt_at) : null,
    receiver_wallet_address: row.receiver,
    owner_name: resolveReceiverName(row, transfersById.get(row.id)),
    description: metadata.description,
    attributes: metadata.attributes,
    media: files,
    request_metadata: metadata.original,
    metadata_url: row.metadata_url,
    metadata_path: row.metadata_url?.replace(/^ipfs:\/\//, '/ipfs/') ?? null,
    accepted_at: isoTime(row.accepted_at),
    run: row.run,
    transactions: transactions.map((transaction) => toExplorerTransaction(explorer, transaction)),
    shuffle: await readShuffle(explorer, row, { blockchain: collection.blockchain, shown: metadata.original }),
    ...(await readHistory(explorer, row, collection.blockchain)),
    ...neighborIds,
  }
}
