import { type Blockchain, type EvmBlockchain, isEvm, type SolanaBlockchain } from '../../api/blockchains.ts'
import { messageOf } from '../../core/errors.ts'
import type { Fetcher } from '../../files/fetcher.ts'
import type { Chains } from '../chain/chains.ts'
import { readCollectionState } from '../chain/evm/collection-reads.ts'
import type { EvmReceipt, Hex } from '../chain/evm/network.ts'
import type { Log } from '../log.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { type CollectionRow, lockCollection, updateCollection, usedBlockchains } from '../store/collections.ts'
import { releaseLeases } from '../store/leases.ts'
import type { Store } from '../store/open-store.ts'
import { chainsToFollow } from '../store/owner-events.ts'
import { MAX_TOLD } from '../store/requests.ts'
import { blockchainsWithSigned, type TransactionRow } from '../store/transactions.ts'
import { nextKnownTokenId } from '../store/unknown-mints.ts'
import { createChainStep } from './chain-step.ts'
import { createClockStep } from './clock-step.ts'
import { createDeployStep } from './deploy-step.ts'
import { createFileStep, type FilePolicy } from './file-step.ts'
import { type Loop, startLoop } from './loop.ts'
import { createMintStep } from './mint-step.ts'
import { createOptimizeStep } from './optimize-step.ts'
import { type OwnerFollower, startOwnerFollower } from './owner-follower.ts'
import { startPublicOwnerFollower } from './public-network/owner-follower.ts'
import { createRecoverStep } from './recovery/recover-step.ts'
import { adoptTransfer, findMadeTransfer } from './recovery/recover-transfer.ts'
import type { OnSigned } from './sign.ts'
import type { SolanaPipeline } from './solana/solana-pipeline.ts'
import { createTransferStep, type TransferStepOptions } from './transfer-step.ts'
import type { Poster } from './webhooks/post.ts'
import { createWebhookStep, type Timings } from './webhooks/webhook-step.ts'

const SOLANA_RETRY_MS = 1000

export interface PipelineOptions {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  fetcher: Fetcher
  files: FilePolicy
  /** Sends events to webhooks. Closed by the pipeline. */
  poster: Poster
  webhookTimings?: Timings | undefined
  now: () => number
  log: Log
  /** Attempts at fetching the files of an NFT. */
  maxFileAttempts?: number | undefined
  /** NFTs whose files are fetched at once. */
  concurrency?: number | undefined
  /** A transaction is final: what it was, and what it cost. */
  onFinal?: (transaction: TransactionRow, receipt: EvmReceipt) => void
  onWebhookAttempt?: (outcome: 'delivered' | 'retried' | 'failed') => void
}

/** What the services tell the pipeline after their commit. A word that is lost only costs time: steps look by themselves. */
export interface Pipeline {
  collectionAccepted(blockchain: Blockchain): void
  nftsAccepted(collectionId: string, what: { files: boolean; mint: boolean }): void
  transferAccepted(): void
  /** Resolves when owners and flags are those of the blockchain now; after 2 seconds at the latest. */
  ownersFollowed(blockchain: EvmBlockchain): Promise<void>
  stop(): Promise<void>
}

/**
 * Fetch files → sign → broadcast → confirm. Each step reads its work from the rows and writes its result to them, so
 * that whatever a killed process left behind goes on from there.
 */
export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { store, chains, storage, fetcher, files, now, log } = options
  // The data dir's lock says that no other worker lives: whatever is leased was left by a dead one. Where processes share
  // a database, what a dead one held is free when its lease ends.
  if (store.postgres === null) await releaseLeases(store)
  let stopped = false
  // A turn that is under way when all is to stop takes nothing more in hand.
  const serves = (blockchain: Blockchain) => !stopped && chains.serves(blockchain)

  const chainLoops = new Map<EvmBlockchain, Loop>()
  const wakeChain = (blockchain: EvmBlockchain) => {
    const running = chainLoops.get(blockchain)
    if (running !== undefined) return running.wake()
    if (stopped) return
    const turn = createChainStep({
      store,
      chains,
      findSigner: chains.findSigner,
      blockchain,
      now,
      log,
      onSettled: (transaction, receipt) => {
        const { kind, collection_id } = transaction
        if (receipt !== null) options.onFinal?.(transaction, receipt)
        if (kind === 'factory') deployLoop.wake()
        // Any that is finished leaves room in its signer's lane.
        transferLoop.wake()
        if (collection_id !== null) wakeMint(collection_id)
      },
    })
    const guarded = async () => (serves(blockchain) ? await turn() : null)
    chainLoops.set(blockchain, startLoop(`chain ${blockchain}`, guarded, log))
  }

  // Loaded when a blockchain is first used: nobody else pays for it.
  const solanaPipelines = new Map<SolanaBlockchain, Promise<SolanaPipeline>>()
  const openSolana = (blockchain: SolanaBlockchain) => {
    let pipeline = solanaPipelines.get(blockchain)
    if (pipeline === undefined) {
      pipeline = import('./solana/solana-pipeline.ts').then(({ startSolanaPipeline }) =>
        startSolanaPipeline({ store, solana: chains.solana, blockchain, storage, fetcher, files, now, log, serves }),
      )
      solanaPipelines.set(blockchain, pipeline)
      // Nobody else would come back to what is accepted already.
      pipeline.catch((error) => {
        log.error({ blockchain, error: messageOf(error) }, 'the pipeline could not be started and will be tried again')
        solanaPipelines.delete(blockchain)
        setTimeout(() => stopped || void openSolana(blockchain).catch(() => {}), SOLANA_RETRY_MS).unref()
      })
    }
    return pipeline
  }

  const onSigned: OnSigned = (blockchain, { id, hash, signer, nonce, kind }, requests) => {
    const facts = { blockchain, transaction: id, hash, kind, signer, nonce }
    log.info({ ...facts, requests: requests.slice(0, MAX_TOLD) }, 'a transaction is signed')
    wakeChain(blockchain)
  }
  const isAhead = async ({ id, blockchain, contract_address, next_token_id }: CollectionRow) => {
    const chain = blockchain as EvmBlockchain
    // An embedded chain is in the database itself.
    if (!chains.remote.has(chain)) return false
    const state = await readCollectionState(await chains.network(chain), contract_address as Hex)
    const startId = BigInt(next_token_id)
    if (state === null || state.nextTokenId <= startId) return false
    const known = await nextKnownTokenId(store.db, { id, startId }, state.nextTokenId)
    if (known > startId) {
      await store.transaction(async (db) => {
        const current = await lockCollection(db, id)
        if (current?.next_token_id === next_token_id) await updateCollection(db, id, { next_token_id: String(known) })
      })
      return true
    }
    const facts = { blockchain, collection: id, next: next_token_id, nextOnChain: String(state.nextTokenId) }
    log.warn(facts, 'the chain has tokens that the database does not know: minting waits until they are looked into')
    return true
  }
  const mintStep = createMintStep({ store, signing: chains.signing, now, onSigned, serves, isAhead })
  const mintLoop = startLoop('mint', mintStep.turn, log)
  const wakeMint = (collectionId: string) => {
    mintStep.mark(collectionId)
    mintLoop.wake()
    for (const pipeline of solanaPipelines.values()) {
      pipeline.then(({ mintable }) => mintable(collectionId)).catch(() => {})
    }
  }
  const recoverStep = createRecoverStep({
    ...{ store, chains, storage, fetcher, files, now, log, onSigned, serves },
    onMintable: (collectionId) => wakeMint(collectionId),
  })
  const recoverLoop = startLoop('recover', recoverStep, log)
  const recoverTransfers: TransferStepOptions['recover'] = async (blockchain, transfers) => {
    const recovered = new Set<string>()
    if (!chains.remote.has(blockchain)) return recovered
    const network = await chains.network(blockchain)
    for (const { id, request_id } of transfers) {
      const made = await findMadeTransfer(store, network, id)
      if (made === null) continue
      recovered.add(id)
      const adopted = await adoptTransfer(store, network, id, made, now())
      if (adopted === null) continue
      const facts = { blockchain, transfer: id, transaction: adopted.id, hash: adopted.hash }
      log.warn(facts, 'a transfer that was missing in the database was found on chain and taken over')
      onSigned(blockchain, adopted, [request_id])
    }
    return recovered
  }
  const transferStep = createTransferStep({
    ...{ store, signing: chains.signing, now, onSigned, serves },
    recover: recoverTransfers,
  })
  const transferLoop = startLoop('transfer', transferStep, log)
  const deployStep = createDeployStep({ store, signing: chains.signing, now, onSigned, serves })
  const deployLoop = startLoop('make', deployStep, log)
  const fileStep = createFileStep({
    store,
    storage,
    checkedFiles: options.checkedFiles,
    fetcher,
    files,
    now,
    log,
    maxAttempts: options.maxFileAttempts,
    concurrency: options.concurrency,
    onMintable: wakeMint,
    onFree: () => filesLoop.wake(),
  })
  const filesLoop = startLoop('files', fileStep.turn, log)

  const webhookStep = createWebhookStep({
    ...{ store, poster: options.poster, now, log, timings: options.webhookTimings },
    onAttempt: (outcome) => options.onWebhookAttempt?.(outcome),
  })
  const webhookLoop = startLoop('webhooks', webhookStep.turn, log)
  const clockLoop = startLoop('clock', createClockStep(store, now), log)
  const optimizeLoop = startLoop('optimize', createOptimizeStep(store), log)

  const followers = new Map<EvmBlockchain, OwnerFollower>()
  const follow = (blockchain: EvmBlockchain): OwnerFollower | undefined => {
    const running = followers.get(blockchain)
    if (running !== undefined || stopped || !serves(blockchain) || chains.remote.has(blockchain)) return running
    const started = startOwnerFollower({ store, chains, blockchain, log })
    followers.set(blockchain, started)
    return started
  }
  chains.onBlocks((blockchain) => follow(blockchain)?.wake())
  const publicFollowers = chains.remote.blockchains
    .filter((blockchain) => serves(blockchain))
    .map((blockchain) => startPublicOwnerFollower({ store, chains, blockchain, log }))

  let isTakenUp = false
  const takeUp = async () => {
    // Others may sign, and die before what they have signed is final; and the embedded chains may become this process's.
    if (isTakenUp && store.postgres === null) return null
    for (const blockchain of await blockchainsWithSigned(store.db)) {
      if (isEvm(blockchain) && serves(blockchain) && !chainLoops.has(blockchain)) wakeChain(blockchain)
    }
    for (const blockchain of await usedBlockchains(store.db)) {
      if (!isEvm(blockchain) && serves(blockchain)) await openSolana(blockchain).catch(() => {})
    }
    for (const blockchain of await chainsToFollow(store.db)) follow(blockchain)
    isTakenUp = true
    return null
  }
  const takeUpLoop = startLoop('take up', takeUp, log)

  /** Whoever is being told something may take ten seconds to answer, and is told again after the next start. */
  const stopWebhooks = async () => {
    await webhookLoop.stop()
    const stopped = webhookStep.stop()
    await options.poster.close()
    await stopped
  }

  return {
    collectionAccepted(blockchain) {
      if (isEvm(blockchain)) deployLoop.wake()
      else if (serves(blockchain)) {
        openSolana(blockchain)
          .then((pipeline) => pipeline.collectionAccepted())
          .catch(() => {})
      }
    },

    nftsAccepted(collectionId, { files, mint }) {
      if (files) filesLoop.wake()
      if (mint) wakeMint(collectionId)
    },

    transferAccepted: () => transferLoop.wake(),

    async ownersFollowed(blockchain) {
      await follow(blockchain)?.caughtUp()
    },

    async stop() {
      stopped = true
      const webhooksStopped = stopWebhooks()
      // Cut first, so that none waits for another: what they hold is given back at once.
      const filesStopped = fileStep.stop()
      const steps = [clockLoop, optimizeLoop, recoverLoop, deployLoop, mintLoop, transferLoop, filesLoop, takeUpLoop]
      const chainSteps = [...chainLoops.values(), ...followers.values(), ...publicFollowers]
      await Promise.all([filesStopped, ...[...steps, ...chainSteps].map((loop) => loop.stop())])
      // A turn of it that was just ending has still taken NFTs in hand.
      await fileStep.stop()
      await Promise.allSettled([...solanaPipelines.values()].map(async (pipeline) => (await pipeline).stop()))
      await webhooksStopped
    },
  }
}
