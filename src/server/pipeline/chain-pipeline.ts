import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import { MAX_LOGGED_REQUESTS } from '../store/requests.ts'
import type { TransactionRow } from '../store/transactions.ts'
import { createChainStep } from './chain-step.ts'
import { createDeployStep } from './deploy-step.ts'
import type { ChainDriver, OnSigned, OwnerFollower, TransactionOutcome } from './driver.ts'
import { type Loop, startLoop, type Turn } from './loop.ts'
import { createMintStep } from './mint-step.ts'
import { createRecoverStep } from './recover-step.ts'

/**
 * The steps of one blockchain. They sign for collections, NFTs, transfers and updates, send and settle transactions,
 * examine unknown tokens, and track owners.
 */
export interface ChainPipeline {
  onCollectionAccepted(): void
  onTransferAccepted(): void
  /**
   * Records that NFTs of a collection, or updates of its NFTs, are ready for signing. The collection may be on another
   * blockchain.
   */
  markMintable(collectionId: string): void
  /**
   * Returns the owner follower, and starts it on the first call. Returns null if owners can't change, or if this
   * process doesn't serve the blockchain.
   */
  startFollower(): OwnerFollower | null
  stop(): Promise<void>
}

export interface ChainPipelineOptions {
  store: Store
  createDriver: (onSigned: OnSigned) => ChainDriver
  now: () => number
  log: Log
  /** Returns whether this process serves the blockchain. */
  serves: () => boolean
  onSettled?: ((transaction: TransactionRow, outcome: TransactionOutcome) => void) | undefined
}

export function startChainPipeline(options: ChainPipelineOptions): ChainPipeline {
  const { store, createDriver, now, log, serves, onSettled: notify } = options
  const onSigned: OnSigned = (signed, requests) => {
    const [first] = signed
    if (first === undefined) return
    const { id: transaction, hash, signer, nonce, kind } = first
    const logFields = { blockchain, kind, signer, requests: requests.slice(0, MAX_LOGGED_REQUESTS) }
    if (signed.length === 1) log.info({ ...logFields, transaction, hash, nonce }, 'a transaction is signed')
    else log.info({ ...logFields, transactions: signed.length }, 'transactions are signed')
    chainLoop.wake()
  }
  const driver = createDriver(onSigned)
  const { blockchain, signTransfers, signUpdates } = driver
  const start = (name: string, turn: Turn) =>
    startLoop(`${name} ${blockchain}`, async () => (serves() ? await turn() : null), log)

  const onSettled = (transaction: TransactionRow, outcome: TransactionOutcome) => {
    const { kind, collection_id } = transaction
    notify?.(transaction, outcome)
    if (kind === 'factory' || kind === 'collection') deployLoop.wake()
    // Every settled transaction frees a slot of its signer.
    transferLoop?.wake()
    updateLoop?.wake()
    if (collection_id !== null) markMintable(collection_id)
  }
  const onMined = ({ collection_id }: TransactionRow) => {
    if (collection_id !== null) markMintable(collection_id)
  }
  const mintStep = createMintStep({ store, driver, now, onSigned, onUnknownTokens: () => recoverLoop.wake(), serves })
  const markMintable = (collectionId: string) => {
    mintStep.mark(collectionId)
    mintLoop.wake()
    updateLoop?.wake()
  }
  const chainLoop = start('chain', createChainStep({ store, driver, now, log, onSettled, onMined }))
  const mintLoop = start('mint', mintStep.turn)
  const transferLoop = signTransfers === undefined ? null : start('transfer', signTransfers)
  const updateLoop = signUpdates === undefined ? null : start('update', signUpdates)
  const deployLoop = start('deploy', createDeployStep({ store, driver, now, onSigned, serves }))
  const recoverLoop = start('recover', createRecoverStep({ store, driver, log, onMintable: markMintable }))
  const loops: Loop[] = [chainLoop, mintLoop, deployLoop, recoverLoop]
  for (const loop of [transferLoop, updateLoop]) if (loop !== null) loops.push(loop)
  let follower: OwnerFollower | null = null

  return {
    onCollectionAccepted: () => deployLoop.wake(),
    onTransferAccepted: () => transferLoop?.wake(),
    markMintable,
    startFollower() {
      if (follower === null && serves()) {
        follower = driver.startFollower?.() ?? null
        if (follower !== null) loops.push(follower)
      }
      return follower
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
