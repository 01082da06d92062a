import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { directoryCid } from '../../../../ipfs/cid.ts'
import type { Chains } from '../../../chain/chains.ts'
import { decodeMint, type MintedBundle } from '../../../chain/evm/collection.ts'
import { isSameCall, type MinedTransaction, readMinedTransaction } from '../../../chain/evm/mined-transaction.ts'
import type { Hex } from '../../../chain/evm/network.ts'
import { assignToTransactions } from '../../../state/nfts.ts'
import { putBlocks } from '../../../store/block-table.ts'
import { type CollectionRow, findCollectionById, lockCollection, updateCollection } from '../../../store/collections.ts'
import { hasWaitingFiles, listMintable } from '../../../store/nfts.ts'
import type { Store } from '../../../store/open-store.ts'
import { countUnfinished, findTransactionByNonce } from '../../../store/transactions.ts'
import { removeUnknownMint, type UnknownMintRow, updateUnknownMint } from '../../../store/unknown-mints.ts'
import type { MintRecovery, OnSigned } from '../../driver.ts'
import { buildMintDirectory } from '../../metadata-file.ts'
import { type FileSources, storeFilesAgain } from '../../store-files-again.ts'
import { findLimitedRunOfEachRow } from '../limited-runs.ts'
import { adoptAttempt, adoptTransaction } from './adopt.ts'
import { findBundle } from './find-bundle.ts'

/** Maximum number of pending rows of a collection that are compared with a mint on chain. */
const MAX_COMPARED_ROWS = 10_000
/** Maximum duration in milliseconds of the search for the rows of one mint. */
const MAX_SEARCH_MS = 5_000

export interface EvmRecoveryOptions extends FileSources {
  store: Store
  blockchain: EvmBlockchain
  chains: Pick<Chains, 'network'>
  now: () => number
  onSigned: OnSigned
}

type MintableNft = Awaited<ReturnType<typeof listMintable>>[number]

/**
 * Returns a function that examines a mint that is on an EVM chain but not in the database. If the metadata directory of
 * pending rows is the minted one, the rows are assigned to the transaction, as if it had been signed for them.
 */
export function createEvmMintRecovery(options: EvmRecoveryOptions): (row: UnknownMintRow) => Promise<MintRecovery> {
  const { store, blockchain, chains, now, log, onSigned } = options

  const recover = async (row: UnknownMintRow): Promise<MintRecovery> => {
    const unexplained = (reason: string) => ({
      unexplained: reason,
      nextTokenId: BigInt(row.start_id) + BigInt(row.token_count),
    })
    const network = await chains.network(blockchain)
    const collection = await findCollectionById(store.db, row.collection_id)
    const mined = await readMinedTransaction(network, row.hash as Hex)
    // The node lags, or a reorg removed the mint. The follower handles a reorg.
    if (mined === null || collection === null) return 'wait'
    const sameNonce = await findTransactionByNonce(store.db, blockchain, mined.signer, mined.nonce)
    if (sameNonce?.state === 'signed') {
      // If the pending transaction makes another call, it can no longer be mined. It will be settled as lost, and its
      // rows will be pending again.
      if (mined.raw === null || !isSameCall(sameNonce.raw as Hex, mined)) return 'wait'
      const signing = { hash: mined.hash, raw: mined.raw }
      await store.transaction(async (db) => {
        if (await removeUnknownMint(db, row)) await adoptAttempt(db, sameNonce, signing, now())
      })
      return 'recovered'
    }
    // The rows of this mint may be assigned to signed transactions that aren't settled yet.
    if (collection.status === 'initiated' || (await countUnfinished(store.db, { collectionId: collection.id })) > 0)
      return 'wait'
    const bundle = mined.to === collection.contract_address ? decodeMint(mined.data) : null
    const details = { signer: mined.signer, directory: bundle === null ? null : directoryCid(bundle.digest).toString() }
    await updateUnknownMint(store.db, row, details)
    if (bundle === null) return unexplained('its transaction is not a gdn mint')
    const recovery = await findRows(row, collection, mined, bundle)
    return typeof recovery === 'object' ? unexplained(recovery.unexplained) : recovery
  }

  const findRows = async (
    row: UnknownMintRow,
    collection: CollectionRow,
    mined: MinedTransaction,
    bundle: MintedBundle,
  ): Promise<'wait' | 'recovered' | { unexplained: string }> => {
    const { raw, signer, nonce } = mined
    const waiting = await listMintable(store.db, collection.id, MAX_COMPARED_ROWS)
    const nfts = await findBundle<MintableNft>(
      waiting.filter(
        ({ sender, dynamic }) =>
          sender === bundle.sender && (collection.dynamic === 1 || (dynamic === 1) === bundle.dynamic),
      ),
      {
        receivers: bundle.receivers,
        matches: async (rows) => (await buildMintDirectory(rows)).digest === bundle.digest,
      },
      MAX_SEARCH_MS,
    )
    if (nfts === null) {
      // Rows whose files aren't stored yet can't be compared, and may belong to this mint.
      if (await hasWaitingFiles(store.db, collection.id)) return 'wait'
      return { unexplained: 'no pending NFTs of this backend have its metadata and receivers' }
    }
    if (raw === null) return { unexplained: "its signed bytes can't be read from the network" }
    for (const nft of nfts) await storeFilesAgain(options, nft)
    const { cid: directory, blocks } = await buildMintDirectory(nfts)
    const { startId } = bundle
    const count = nfts.length
    const adopted = await store.transaction(async (db) => {
      const current = await lockCollection(db, collection.id)
      if (current === null || (await countUnfinished(db, { collectionId: collection.id })) > 0) return null
      const origin = { kind: bundle.sender === null ? 'mint' : 'grant', collectionId: collection.id } as const
      const recovered = { blockchain, hash: mined.hash, raw, signer, nonce }
      const limited = (await findLimitedRunOfEachRow(db, collection.id, nfts)).find((run) => run !== null)
      const content = { ...origin, run: limited ?? null, bundle: { startId, count, directory } }
      const signed = await adoptTransaction(db, recovered, content, now())
      if (signed === null) return null
      const assignments = nfts.map(({ seq }, index) => ({ seq, transactionId: signed.id, index }))
      if ((await assignToTransactions(db, assignments)) !== count)
        throw new Error('a transaction that mints one of the NFTs was signed in the meantime')
      await updateCollection(db, collection.id, { next_token_id: maxTokenId(current, startId + BigInt(count)) })
      await putBlocks(db, blocks, store.publishTo)
      await removeUnknownMint(db, row)
      return signed
    })
    if (adopted === null) return 'wait'
    const logFields = { blockchain, collection: collection.id, transaction: adopted.id, hash: mined.hash, nfts: count }
    log.warn(logFields, 'a mint on chain that was missing from the database was recognized by its metadata and adopted')
    onSigned([adopted], [...new Set(nfts.map(({ request_id }) => request_id))])
    return 'recovered'
  }

  return recover
}

/** Returns the token ID that follows all tokens known to be on chain. */
const maxTokenId = ({ next_token_id }: CollectionRow, end: bigint): string =>
  BigInt(next_token_id) > end ? next_token_id : String(end)
