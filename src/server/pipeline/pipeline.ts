import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import { messageOf } from '../../core/errors.ts'
import type { LazyFetcher } from '../../files/lazy-fetcher.ts'
import type { Chains } from '../chain/chains.ts'
import type { Log } from '../log.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { usedBlockchains } from '../store/collections.ts'
import { releaseLeases } from '../store/leases.ts'
import type { Store } from '../store/open-store.ts'
import { chainsToFollow } from '../store/owner-events.ts'
import { listUnsettledBlockchains, type TransactionRow } from '../store/transactions.ts'
import { type ChainPipeline, startChainPipeline } from './chain-pipeline.ts'
import { createClockStep } from './clock-step.ts'
import type { TransactionOutcome } from './driver.ts'
import type { FilePolicy } from './file-source.ts'
import { createFileStep } from './file-step.ts'
import { loadDriver } from './load-driver.ts'
import { startLoop, type Turn } from './loop.ts'
import { createOptimizeStep } from './optimize-step.ts'
import type { Poster } from './webhooks/post.ts'
import type { Timings } from './webhooks/schedule.ts'
import { createWebhookStep } from './webhooks/webhook-step.ts'

const RETRY_MS = 1000

export interface PipelineOptions {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  fetcher: LazyFetcher
  files: FilePolicy
  /** Sends events to webhooks. The pipeline closes it. */
  poster: Poster
  webhookTimings?: Timings | undefined
  now: () => number
  log: Log
  maxFileAttempts?: number | undefined
  /** Number of NFTs whose files are fetched concurrently. */
  concurrency?: number | undefined
  /** Called when a transaction is finished. */
  onSettled?: (transaction: TransactionRow, outcome: TransactionOutcome) => void
  onWebhookAttempt?: (outcome: 'delivered' | 'retried' | 'failed') => void
}

/**
 * Receives notifications from services after their commit. A lost notification only delays work, because steps also
 * poll.
 */
export interface Pipeline {
  onCollectionAccepted(blockchain: Blockchain): void
  onNftsAccepted(collectionId: string, steps: { files: boolean; mint: boolean }): void
  onTransferAccepted(): void
  /**
   * Resolves when owners and flags match the current state of an embedded chain, or after 2 s. Resolves immediately for
   * a public network.
   */
  waitForOwners(blockchain: EvmBlockchain): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the pipeline: fetch files → sign → broadcast → confirm. Each step reads its work from the rows and writes its
 * result to them, so that work resumes where a killed process stopped. Each blockchain has its own pipeline.
 */
export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { store, chains, now, log } = options
  // The lock of the data directory proves that no other worker runs, so all leases belong to workers that have exited.
  // In a cluster, leases of exited workers expire.
  if (store.postgres === null) await releaseLeases(store)
  const stopping = new AbortController()
  const pipelines = createChainPipelines(options, stopping.signal)
  const markMintable = (collectionId: string) => pipelines.whereOpen((pipeline) => pipeline.markMintable(collectionId))

  const fileStep = createFileStep({
    ...options,
    maxAttempts: options.maxFileAttempts,
    onMintable: markMintable,
    onFree: () => filesLoop.wake(),
  })
  const filesLoop = startLoop('files', fileStep.turn, log)
  const webhooks = startWebhooks(options)
  const clockLoop = startLoop('clock', createClockStep(store, now), log)
  const optimizeLoop = startLoop('optimize', createOptimizeStep(store), log)
  chains.onBlocks((blockchain) => pipelines.openThen(blockchain, (pipeline) => pipeline.startFollower()?.wake()))
  const resumeLoop = startLoop('resume', createResumeStep(store, pipelines), log)

  return {
    onCollectionAccepted(blockchain) {
      pipelines.openThen(blockchain, (pipeline) => pipeline.onCollectionAccepted())
    },

    onNftsAccepted(collectionId, { files, mint }) {
      if (files) filesLoop.wake()
      if (mint) markMintable(collectionId)
    },

    onTransferAccepted: () => pipelines.whereOpen((pipeline) => pipeline.onTransferAccepted()),

    async waitForOwners(blockchain) {
      if (pipelines.serves(blockchain)) await (await pipelines.open(blockchain)).startFollower()?.waitUntilCaughtUp()
    },

    async stop() {
      stopping.abort()
      const webhooksStopped = webhooks.stop()
      // Stop the file step first. Otherwise, loops would wait for downloads, and claims would not be released
      // immediately.
      const filesStopped = fileStep.stop()
      const loops = [clockLoop, optimizeLoop, filesLoop, resumeLoop]
      await Promise.all([filesStopped, pipelines.stop(), ...loops.map((loop) => loop.stop())])
      // A turn that was just ending may have claimed more NFTs.
      await fileStep.stop()
      await webhooksStopped
    },
  }
}

type ChainPipelines = ReturnType<typeof createChainPipelines>

/** Creates the pipelines of the blockchains, each of which starts on first use. */
function createChainPipelines(options: PipelineOptions, stopping: AbortSignal) {
  const { store, chains, storage, fetcher, files, now, log, onSettled } = options
  // If the pipeline stops during a turn, the turn must not start more work.
  const serves = (blockchain: Blockchain) => !stopping.aborted && chains.serves(blockchain)

  const opened = new Map<Blockchain, Promise<ChainPipeline>>()
  const start = async (blockchain: Blockchain): Promise<ChainPipeline> => {
    const createDriver = await loadDriver({ store, chains, storage, fetcher, files, now, log }, blockchain)
    const started = startChainPipeline({ store, createDriver, now, log, serves: () => serves(blockchain), onSettled })
    // Track the owners on public networks continuously. The owners of an embedded chain are read when it has new
    // blocks.
    if (isEvm(blockchain) ? chains.remote.has(blockchain) : chains.solana.clusters.has(blockchain))
      started.startFollower()
    return started
  }
  const open = (blockchain: Blockchain): Promise<ChainPipeline> => {
    const existing = opened.get(blockchain)
    if (existing !== undefined) return existing
    const pipeline = start(blockchain)
    opened.set(blockchain, pipeline)
    // Retry here, because nothing else would start the pipeline for work that is already accepted.
    pipeline.catch((error) => {
      log.error({ blockchain, error: messageOf(error) }, 'the pipeline could not be started and will be retried')
      opened.delete(blockchain)
      setTimeout(() => stopping.aborted || void open(blockchain).catch(() => {}), RETRY_MS).unref()
    })
    return pipeline
  }

  return {
    serves,
    open,
    whereOpen(work: (pipeline: ChainPipeline) => void) {
      for (const pipeline of opened.values()) pipeline.then(work, () => {})
    },
    openThen(blockchain: Blockchain, work: (pipeline: ChainPipeline) => void) {
      if (serves(blockchain)) open(blockchain).then(work, () => {})
    },
    stop: () => Promise.allSettled([...opened.values()].map(async (pipeline) => (await pipeline).stop())),
  }
}

function startWebhooks({ store, poster, now, log, webhookTimings, onWebhookAttempt }: PipelineOptions) {
  const step = createWebhookStep({
    store,
    poster,
    now,
    log,
    timings: webhookTimings,
    onAttempt: (outcome) => onWebhookAttempt?.(outcome),
  })
  const loop = startLoop('webhooks', step.turn, log)
  return {
    /**
     * Aborts webhook deliveries in progress, which could take another 10 s. They are sent again after the next start.
     */
    async stop() {
      await loop.stop()
      const stopped = step.stop()
      await poster.close()
      await stopped
    },
  }
}

/** Creates the step that opens the pipelines of blockchains with work. */
function createResumeStep(store: Store, { serves, open, openThen }: ChainPipelines): Turn {
  let turns = 0
  return async () => {
    // In a cluster, every turn looks for work: another process may exit before its transactions are final, or this
    // process may take over the embedded chains. A single process looks only twice. The second turn finds requests that
    // were accepted during the start.
    if (turns > 1 && store.postgres === null) return null
    const pending = new Set([...(await listUnsettledBlockchains(store.db)), ...(await usedBlockchains(store.db))])
    for (const blockchain of pending) if (serves(blockchain)) await open(blockchain).catch(() => {})
    for (const blockchain of await chainsToFollow(store.db))
      openThen(blockchain, (pipeline) => pipeline.startFollower())
    turns += 1
    return null
  }
}
