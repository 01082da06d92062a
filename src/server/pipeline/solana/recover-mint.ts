import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { newId } from '../../../core/ids.ts'
import { mintAddress } from '../../chain/solana/mint-address.ts'
import type { SolanaNetwork } from '../../chain/solana/network.ts'
import { decodeMintAccount } from '../../chain/solana/read-mint.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import { adoptMembers, type FoundMember } from '../../state/nfts.ts'
import { type CollectionRow, findCollectionById, lockCollection } from '../../store/collections.ts'
import { hasWaitingFiles, listMintable } from '../../store/nfts.ts'
import type { UnknownMintRow } from '../../store/unknown-mints.ts'
import type { DriverOptions, MintRecovery } from '../driver.ts'
import { parseFileUri, restoreDirectory } from '../restore-directory.ts'
import { type FileSources, storeFilesAgain } from '../store-files-again.ts'
import { compareGroup } from './group-members.ts'

/** Number of pending NFTs that are looked up on chain in one request. */
const NFTS_PER_REQUEST = 1000

export interface SolanaRecoveryOptions extends FileSources, DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'signer' | 'network'>
}

/**
 * Creates a function that examines a collection whose group has more members than the database. A token's address is
 * derived from its NFT's ID, so a pending NFT whose token exists is marked as deployed.
 */
export function createSolanaMintRecovery(
  options: SolanaRecoveryOptions,
): (row: UnknownMintRow) => Promise<MintRecovery> {
  const { store, solana, blockchain, now, log } = options

  const recover = async (row: UnknownMintRow): Promise<MintRecovery> => {
    const collection = await findCollectionById(store.db, row.collection_id)
    if (collection === null) return 'wait'
    const network = await solana.network(blockchain)
    const { unknown, pending } = await compareGroup(store.db, network, collection)
    if (unknown === 0) return 'recovered'
    if (pending > 0) return 'wait'
    if ((await adopt(network, collection)) > 0) return await recover(row)
    // The unknown member may be an NFT whose files aren't stored yet.
    if (await hasWaitingFiles(store.db, collection.id)) return 'wait'
    return { unexplained: 'none of these tokens belongs to an NFT of this backend', tokens: unknown }
  }

  /** Marks pending NFTs whose tokens exist as deployed. Returns the number of these NFTs. */
  const adopt = async (network: SolanaNetwork, collection: CollectionRow): Promise<number> => {
    const { address: signer } = await solana.signer(blockchain)
    let adopted = 0
    let after = 0
    for (;;) {
      const pendingNfts = await listMintable(store.db, collection.id, NFTS_PER_REQUEST, { after })
      const mints = pendingNfts.map(({ id }) => mintAddress(signer, id))
      const exist = await network.mintsExist(mints)
      const members: FoundMember[] = []
      for (const [at, nft] of pendingNfts.entries()) {
        const mint = mints[at]
        if (mint === undefined || exist[at] !== true) continue
        const account = await network.account(mint)
        const file = parseFileUri(account === null ? null : decodeMintAccount(account.data).uri)
        if (file === null) continue
        const { directory, index } = file
        const hash = (await network.findCreationSignature?.(mint)) ?? `unknown:${mint}`
        members.push({ nft, index, transaction: lostTransaction(collection.id, { signer, mint, directory, hash }) })
        await storeFilesAgain(options, nft)
      }
      await store.transaction(async (db) => {
        await lockCollection(db, collection.id)
        await adoptMembers(db, members)
        for (const directory of new Set(members.flatMap(({ transaction }) => transaction.directory ?? []))) {
          await restoreDirectory(db, { store, log }, { collectionId: collection.id, directory })
        }
      })
      adopted += members.length
      const last = pendingNfts.at(-1)
      if (last === undefined || pendingNfts.length < NFTS_PER_REQUEST) break
      after = last.seq
    }
    if (adopted > 0) {
      const logFields = { blockchain, collection: collection.id, nfts: adopted }
      log.warn(logFields, 'tokens on chain that were missing from the database were recognized and adopted')
    }
    return adopted
  }

  /** Returns a row for the transaction that minted a token, with the data that the chain has about it. */
  const lostTransaction = (
    collectionId: string,
    { signer, ...made }: { signer: string; mint: string; directory: string; hash: string },
  ) => ({
    id: newId(),
    blockchain,
    signer,
    nonce: null,
    kind: 'mint' as const,
    collection_id: collectionId,
    ...made,
    start_id: null,
    token_count: 1,
    raw: '',
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: now(),
    next_attempt_at: now(),
  })

  return recover
}
