import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Chains } from '../../chain/chains.ts'
import type { FindSigner } from '../../chain/evm/evm-signer.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../../chain/evm/network.ts'
import type { Log } from '../../log.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { TransactionRow, UnfinishedTransactions } from '../../store/transactions.ts'
import { hasWatchedTransactions } from '../../store/watched.ts'
import type { ChainDriver, ChainObserver, DriverOptions, Observation, OnSigned } from '../driver.ts'
import type { FileSources } from '../store-files-again.ts'
import { commitSigned } from './commit-signed.ts'
import { startEmbeddedOwnerLoop } from './embedded-owner-loop.ts'
import { judge } from './judge.ts'
import { createPublicObserver } from './public-network/observe.ts'
import { startPublicOwnerLoop } from './public-network/public-owner-loop.ts'
import { watchSettled } from './public-network/reorgs.ts'
import { createEvmMintRecovery } from './recovery/recover-mint.ts'
import { adoptTransfer, findMinedTransfer } from './recovery/recover-transfer.ts'
import { openEvmPreparer } from './transaction-preparer.ts'
import { createTransferStep } from './transfer-step.ts'
import { createEvmUpdateStep } from './update-step.ts'

const POLL_MS = 500
const CLAIM_SIZE = 64
/**
 * Number of transactions that a process of a cluster claims at once. The process that settles a bundle also signs the
 * collection's next bundle. If one process claimed all due transactions, the other processes would have no work.
 */
const SHARED_CLAIM_SIZE = 16
/**
 * Number of collections for which transactions are signed concurrently. Each bundle waits once for the network and 12
 * times for the database. With one worker, 48 collections and a network that responds in 25 ms, a concurrency of 8
 * signs twice as many NFTs per second as a concurrency of 1.
 */
const MAX_CONCURRENT_COLLECTIONS = 8

export interface EvmObserverOptions extends DriverOptions<EvmBlockchain> {
  network: () => Promise<EvmNetwork>
  findSigner: FindSigner
  log: Log
  /** Maximum gas price in wei after a fee increase. Default: only the network's limit applies. */
  maxFee?: bigint | undefined
}

/**
 * Maximum number of a collection's mints that aren't final. After a reorg, all of these mints may have to wait for a
 * block again.
 */
const MAX_UNCONFIRMED_MINTS = 64

/**
 * Returns whether mints of a collection may be signed in addition to its unfinished transactions. The token IDs of a
 * bundle are valid only if all earlier bundles succeed. After a failed bundle, bundles are smaller and are signed one
 * at a time until one succeeds.
 *
 * @param maxWaiting maximum number of mints that may wait for a block; 1 allows only one mint that isn't final
 */
export function canSignMore(
  maxWaiting: number,
  { batch_limit }: Pick<CollectionRow, 'batch_limit'>,
  { count, unminedCount, hasReverted, hasLostToken, signers }: UnfinishedTransactions,
  more: number,
): boolean {
  // A signed transaction refers to a token ID that its NFT has lost because of a reorg. Until that token ID is minted
  // again, the transaction reverts. Afterwards, it would change the wrong NFT.
  if (hasLostToken) return false
  if (maxWaiting === 1 || batch_limit !== null) return count + more <= 1
  // Nonces don't order the transactions of different signers, and after a reorg, transactions of several signers may be
  // pending again.
  if (hasReverted || signers.length > 1) return false
  return unminedCount + more <= maxWaiting && count + more <= MAX_UNCONFIRMED_MINTS
}

/** Creates an observer that sends transactions to an EVM chain, embedded or public, and looks up their outcomes. */
export function createEvmObserver(options: EvmObserverOptions): ChainObserver {
  const { store, blockchain, network: open, now, log } = options
  const observePublic = createPublicObserver(options)
  let nextWatch = Number.NEGATIVE_INFINITY
  return {
    blockchain,
    claimSize: store.postgres === null ? CLAIM_SIZE : SHARED_CLAIM_SIZE,
    // Settle one transaction per commit, because a bundle may have hundreds of NFTs.
    commitSize: 1,

    async observe(claimed) {
      const network = await open()
      const { publicNetwork } = network
      if (publicNetwork !== undefined) return await observePublic(network, publicNetwork, claimed)
      return await observeEmbedded(network, claimed)
    },

    judge: async (transaction, outcome) => judge({ store, network: await open(), transaction, outcome, log }),

    async watch() {
      const wait = nextWatch - performance.now()
      if (wait > 0) return wait
      if (!(await hasWatchedTransactions(store.db, blockchain))) return null
      const network = await open()
      const { publicNetwork } = network
      if (publicNetwork === undefined) return null
      const stillWatched = await watchSettled({ store, network, publicNetwork, now, log })
      if (stillWatched === 0) return null
      nextWatch = performance.now() + publicNetwork.pollMs
      return publicNetwork.pollMs
    },
  }
}

/**
 * Broadcasts transactions on an embedded chain and returns their outcomes. Blocks of an embedded chain are final as
 * soon as they are mined.
 */
async function observeEmbedded(network: EvmNetwork, claimed: readonly TransactionRow[]): Promise<Observation[]> {
  const outcomes = await network.broadcast(claimed.map(({ raw }) => raw as Hex))
  const receipts = await network.receipts(claimed.map(({ hash }) => hash as Hex))
  return claimed.map((_, index) => {
    const receipt = receipts[index] ?? null
    if (receipt !== null)
      return { state: receipt.status === 'success' ? 'final' : 'reverted', seen: toChainResult(receipt) }
    const outcome = outcomes[index]
    const pending = { state: 'signed', waitMs: POLL_MS } as const
    return outcome?.outcome === 'rejected' ? { ...pending, refusal: outcome.reason } : pending
  })
}

const toChainResult = ({ blockNumber, blockHash, gasUsed, feePaid }: EvmReceipt) => ({
  block_number: Number(blockNumber),
  block_hash: blockHash,
  gas_used: String(gasUsed),
  fee_paid: feePaid === null ? null : String(feePaid),
})

export interface EvmDriverOptions extends FileSources, DriverOptions<EvmBlockchain> {
  chains: Pick<Chains, 'network' | 'signing' | 'findSigner' | 'remote' | 'serves'>
  onSigned: OnSigned
}

/** Creates the driver of an EVM chain, embedded or public. */
export function createEvmDriver(options: EvmDriverOptions): ChainDriver {
  const { store, blockchain, chains, now, log, onSigned } = options
  const network = () => chains.network(blockchain)

  /**
   * Finds transfers on chain that a restored database doesn't have, and adopts their transactions. Returns the IDs of
   * the transfers.
   */
  const recover = async (transfers: readonly Parameters<typeof adoptTransfer>[2][]) => {
    const recovered = new Set<string>()
    if (!chains.remote.has(blockchain)) return recovered
    for (const transfer of transfers) {
      const { id, request_id } = transfer
      const madeTransfer = await findMinedTransfer(store, await network(), id)
      if (madeTransfer === null) continue
      recovered.add(id)
      const adopted = await adoptTransfer(store, await network(), transfer, madeTransfer, now())
      if (adopted === null) continue
      const logFields = { blockchain, transfer: id, transaction: adopted.id, hash: adopted.hash }
      log.warn(logFields, 'a transfer that was missing from the database was found on chain and adopted')
      onSigned([adopted], [request_id])
    }
    return recovered
  }

  return {
    ...createEvmObserver({ store, blockchain, network, findSigner: chains.findSigner, now, log }),
    canSignMore(collection, unfinished, more) {
      const { publicNetwork } = chains.remote.has(blockchain) ? chains.remote.network(blockchain) : {}
      return canSignMore(publicNetwork?.mintsInFlight ?? 1, collection, unfinished, more)
    },
    maxConcurrentCollections: MAX_CONCURRENT_COLLECTIONS,
    commit: (work) => commitSigned(store, work),
    openPreparer: () => openEvmPreparer(options),
    recoverMint: createEvmMintRecovery(options),
    signTransfers: createTransferStep({ store, blockchain, chains, now, onSigned, recover }),
    signUpdates: createEvmUpdateStep(options),
    startFollower: () =>
      chains.remote.has(blockchain)
        ? startPublicOwnerLoop({ store, chains, blockchain, log })
        : startEmbeddedOwnerLoop({ store, chains, blockchain, log }),
  }
}
