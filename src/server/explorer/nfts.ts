import { ZERO_ADDRESS } from '../../api/address.ts'
import { isoTime } from '../../core/time.ts'
import { seenCollections } from '../store/explorer-collections.ts'
import { neighbors, seenNft } from '../store/explorer-nfts.ts'
import { finalTransfers, receiverNameOf } from '../store/transfers.ts'
import { refOf } from './collections.ts'
import { type ExplorerDeps, fileFields, readMetadata, type Viewer } from './explorer.ts'
import { coverOf, mediaOf } from './media.ts'
import { shuffleOf } from './shuffle.ts'
import { historyOf, toExplorerTransaction, transactionsOf } from './transactions.ts'
import type { NftDetails } from './types.ts'

/** Returns the details of an NFT. Returns null if the viewer may not see an NFT with this ID. */
export async function showNft(explorer: ExplorerDeps, { accountId }: Viewer, id: string): Promise<NftDetails | null> {
  const { db, media } = explorer
  const row = await seenNft(db, accountId, id)
  if (row === undefined) return null
  const metadata = readMetadata(row.present_metadata)
  const fields = fileFields(metadata, row.present_files)
  const [[collection], transactions, files, beside, finals] = await Promise.all([
    seenCollections(db, accountId, [row.collection_id]),
    transactionsOf(explorer, row),
    Promise.all(fields.map((field) => mediaOf(media, field))),
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
    image: await coverOf(media, fields),
    collection: refOf(collection),
    step: row.step,
    next_attempt_at: row.step === 'files' && row.attempts > 0 ? isoTime(row.next_attempt_at) : null,
    receiver_wallet_address: row.receiver,
    owner_name: receiverNameOf(row, finals.get(row.id)),
    description: metadata.description,
    attributes: metadata.attributes,
    media: files,
    request_metadata: metadata.whole,
    metadata_url: row.metadata_url,
    metadata_path: row.metadata_url?.replace(/^ipfs:\/\//, '/ipfs/') ?? null,
    accepted_at: isoTime(row.accepted_at),
    run: row.run,
    transactions: transactions.map((transaction) => toExplorerTransaction(explorer, transaction)),
    shuffle: await shuffleOf(explorer, row, { blockchain: collection.blockchain, shown: metadata.whole }),
    ...(await historyOf(explorer, row, collection.blockchain)),
    ...beside,
  }
}
