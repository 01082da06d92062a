import type { NftMetadata } from '../../../api/metadata.ts'
import type { MintSpec } from '../../chain/solana/mint-instructions.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { NftRow } from '../../store/nfts.ts'

const COLLECTION_FILE_NAME = 'collection.json'

/** Returns the metadata file of a collection, in the format that wallets read. */
export function collectionFile({ name, symbol, description, image }: CollectionRow): {
  name: string
  bytes: Uint8Array
} {
  return { name: COLLECTION_FILE_NAME, bytes: Buffer.from(JSON.stringify({ name, symbol, description, image })) }
}

/**
 * Returns the specification of a collection's own token, which represents its group. The collection's wallet holds this
 * token.
 */
export function buildCollectionSpec(collection: CollectionRow, directory: string): MintSpec {
  const { id, name, symbol, wallet_address: receiver, max_supply } = collection
  const maxSize = max_supply === null ? undefined : BigInt(max_supply)
  const uri = `ipfs://${directory}/${COLLECTION_FILE_NAME}`
  // The owner of a collection may transfer it even if its NFTs can't be transferred.
  return { id, group: null, name, symbol, uri, receiver, locked: false, maxSize }
}

/** Returns the specification of an NFT's token, which is a member of its collection's group. */
export function buildNftSpec(
  collection: CollectionRow,
  nft: Pick<NftRow, 'id' | 'receiver' | 'dynamic' | 'metadata'>,
  { directory, index }: { directory: string; index: number },
): MintSpec {
  return {
    id: nft.id,
    group: collection.contract_address,
    name: (JSON.parse(nft.metadata) as NftMetadata).title,
    symbol: collection.symbol,
    uri: `ipfs://${directory}/${index}.json`,
    receiver: nft.receiver,
    locked: collection.is_locked === 1,
    dynamic: collection.dynamic === 1 || nft.dynamic === 1,
    burnable: collection.enable_burn === 1,
  }
}
