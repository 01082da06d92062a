import { checksumAddress } from '../../api/address.ts'
import { isEvm } from '../../api/blockchains.ts'
import { isEvmAddress } from '../../api/same-address.ts'
import { GdnError } from '../../core/errors.ts'
import { failNftsOfCollection } from '../state/nfts.ts'
import { type CollectionRow, findCollectionById, findCollectionsByAddress } from '../store/collections.ts'
import { countPending } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import {
  listUnknownMints,
  listUnreleasedMints,
  releaseUnknownMints,
  type UnknownMintRow,
} from '../store/unknown-mints.ts'

/** A mint on chain whose transaction isn't in the backend's database, as shown to an operator. */
export interface ShownUnknownMint {
  collection_id: string
  contract_address: string
  blockchain: string
  state: string
  /** The first and last token IDs; null on Solana, where only the number of tokens is known. */
  first_token_id: string | null
  last_token_id: string | null
  tokens: number
  /** Hash of the transaction; null on Solana. */
  hash: string | null
  signer: string | null
  metadata_url: string | null
  reason: string | null
  block_number: number | null
  /** The time when gdn found the mint, in ISO 8601. */
  found_at: string
  [field: string]: unknown
}

/** Lists mints that block collections from minting. With `released`, includes released mints. */
export async function showUnknownMints(store: Store, options: { released: boolean }): Promise<ShownUnknownMint[]> {
  return (await listUnknownMints(store.db, options)).map((row) => ({
    collection_id: row.collection_id,
    contract_address: row.contract_address,
    blockchain: row.blockchain,
    state: row.state,
    tokens: row.token_count,
    ...transactionFields(row),
    signer: row.signer,
    metadata_url: row.directory === null ? null : `ipfs://${row.directory}/0.json`,
    reason: row.reason,
    found_at: new Date(Number(row.found_at)).toISOString(),
  }))
}

function transactionFields({ blockchain, hash, start_id, token_count, block_number }: UnknownMintRow) {
  if (!isEvm(blockchain)) {
    return { hash: null, first_token_id: null, last_token_id: null, block_number: null }
  }
  const last_token_id = String(BigInt(start_id) + BigInt(token_count) - 1n)
  return { hash, first_token_id: start_id, last_token_id, block_number: Number(block_number) }
}

export interface HeldCollection {
  collection: CollectionRow
  /** Number of unknown tokens on chain. */
  tokens: number
  /** Number of pending NFTs that would be minted after a release. */
  pending: number
}

/**
 * Finds, by address or ID, a collection that can't mint because of unknown tokens.
 *
 * @throws GdnError `not_found_locally`, `usage`
 */
export async function findHeldCollection(store: Store, addressOrId: string): Promise<HeldCollection> {
  const { db } = store
  const address = isEvmAddress(addressOrId) ? checksumAddress(addressOrId) : addressOrId
  const byAddress = await findCollectionsByAddress(db, address)
  const collections =
    byAddress.length > 0 ? byAddress : [await findCollectionById(db, addressOrId)].filter((row) => row !== null)
  if (collections.length === 0) throw new GdnError('not_found_locally', `this backend has no collection ${addressOrId}`)
  for (const collection of collections) {
    const openMints = await listUnreleasedMints(db, collection.id)
    if (openMints.length === 0) continue
    if (openMints.some(({ state }) => state === 'found')) {
      throw new GdnError('usage', `the backend is still comparing tokens of ${addressOrId} with its pending NFTs`, {
        hint: 'Run the command again when `gdn tx unknown` shows the tokens as unexplained.',
      })
    }
    const tokens = openMints.reduce((sum, { token_count }) => sum + token_count, 0)
    return { collection, tokens, pending: await countPending(db, collection.id) }
  }
  throw new GdnError('usage', `the collection ${addressOrId} has no unknown tokens`, {
    hint: 'Run `gdn tx unknown` to list the collections with unknown tokens.',
  })
}

const RELEASED_NFT_ERROR = 'a token of this NFT may exist: the collection was released after the database was restored'

/**
 * Allows a collection to mint again despite its unknown tokens.
 *
 * @param failPending whether to mark the pending NFTs as failed, because the unknown tokens may be theirs
 * @throws GdnError as `findHeldCollection`
 */
export async function releaseCollection(
  store: Store,
  addressOrId: string,
  { failPending }: { failPending: boolean },
): Promise<HeldCollection> {
  const heldMints = await findHeldCollection(store, addressOrId)
  await store.transaction(async (db) => {
    await releaseUnknownMints(db, heldMints.collection.id)
    if (failPending) await failNftsOfCollection(db, heldMints.collection.id, RELEASED_NFT_ERROR)
  })
  return heldMints
}
