import { setTimeout as delay } from 'node:timers/promises'
import { FetchFailure } from '../files/failure.ts'
import { createLazyFetcher } from '../files/lazy-fetcher.ts'
import { createPace } from '../files/pace.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics/types.ts'
import { createLazyPipeline } from './pipeline/lazy-pipeline.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import type { PublishContext } from './pipeline/publish-step.ts'
import type { Poster, PosterOptions } from './pipeline/webhooks/post.ts'
import type { Timings } from './pipeline/webhooks/schedule.ts'
import type { ServiceDeps } from './services/services.ts'
import type { ServerSettings } from './settings/types.ts'
import type { Gateway, GatewayOptions } from './storage/gateway.ts'
import type { OpenedStorage } from './storage/open-storage.ts'
import type { Store } from './store/open-store.ts'

/** Options of a process that fetches files, mints, and notifies webhooks. */
export interface WorkOptions {
  /** Maximum number of NFTs whose files are fetched at once. Default: 64. */
  concurrency?: number | undefined
  /** Whether files are also fetched from private addresses and any port, for development. */
  allowPrivateFiles: boolean
  /** Whether HTML pages are accepted as files of NFTs. */
  allowHtmlFiles?: boolean
  /** A trustless gateway for IPFS files. Default: the gateway of the settings file. */
  ipfsGateway?: string | undefined
  /**
   * Whether an NFT is minted only if all its files are in the backend's storage. The settings file can also require
   * this.
   */
  requireStoredFiles?: boolean
  /** Timeout for a file in milliseconds, and maximum number of attempts. Default: 30 s and eight. */
  fileFetching?: { timeoutMs: number; maxAttempts: number }
  /** Retries of webhook deliveries, and the timeout of a delivery in milliseconds. Default: three days and 10 s. */
  webhooks?: { timings?: Timings; timeoutMs?: number }
  /**
   * Returns the delay in milliseconds before content is published again after this number of attempts. Default: 1 s to
   * 60 s.
   */
  publishRetryMs?: (attempts: number) => number
  version: string
}

type WorkDeps = Pick<ServiceDeps, 'store' | 'chains' | 'storage' | 'checkedFiles' | 'now'> & {
  log: Log
  metrics: Metrics
  settings: ServerSettings
}

export interface OpenedPipeline {
  pipeline: Pipeline
  /** Starts the pipeline, which resumes pending work first. */
  begin: () => void
}

/** Maximum time in milliseconds that a shutdown waits for work in progress. */
const DRAIN_MS = 1500

/**
 * Opens the pipeline of a process that fetches files, mints, and notifies webhooks. In a cluster, it exchanges
 * notifications with other processes.
 */
export async function openPipeline(
  deps: WorkDeps,
  options: WorkOptions,
  undo: (() => unknown)[],
): Promise<OpenedPipeline> {
  const { store, chains, metrics, now } = deps
  const { allowPrivateFiles: allowPrivate, allowHtmlFiles: allowHtml = false, fileFetching } = options
  const [pace, userAgent] = [createPace(), `gdn/${options.version}`]
  const fetcher = createLazyFetcher({
    allowPrivate,
    allowHtml,
    pace,
    userAgent,
    timeoutMs: fileFetching?.timeoutMs,
  })
  undo.push(() => fetcher.close())
  const timeoutMs = fileFetching?.timeoutMs
  const { settings, ...tools } = deps
  const ipfs = await openIpfs(options.ipfsGateway, settings, { allowPrivate, pace, userAgent, timeoutMs })
  undo.push(() => ipfs?.close())
  const ownPipeline = createLazyPipeline({
    ...tools,
    fetcher,
    files: { allowHtml, requireStored: options.requireStoredFiles || settings.requireStoredFiles, ipfs },
    maxFileAttempts: fileFetching?.maxAttempts,
    concurrency: options.concurrency,
    poster: createLazyPoster({
      allowPrivate,
      now,
      userAgent: `gdn/${options.version}`,
      timeoutMs: options.webhooks?.timeoutMs,
    }),
    webhookTimings: options.webhooks?.timings,
    onWebhookAttempt: (outcome) => metrics.observe({ what: 'webhook', outcome }),
    onSettled({ blockchain, kind, token_count }, { state, seen: { gas_used } }) {
      if (gas_used == null) return
      const nfts = state === 'final' ? token_count : 0
      metrics.observe({ what: 'transaction', blockchain, kind, gas: Number(gas_used), nfts })
    },
  })
  undo.push(async () => {
    // Wait for work in progress, but no longer than DRAIN_MS. Closing the chains aborts work that takes longer, such as
    // a replay.
    const stopped = ownPipeline.stop()
    await Promise.race([stopped, delay(DRAIN_MS, undefined, { ref: false })])
    await chains.close()
    await stopped
  })
  const { begin } = ownPipeline
  if (store.postgres === null) return { pipeline: ownPipeline, begin }
  const { openBus } = await import('./store/postgres/bus.ts')
  const { createNotificationHandler, createNotifyingPipeline } = await import('./pipeline/notify-others.ts')
  const bus = openBus({ store, ...createNotificationHandler(ownPipeline) })
  undo.push(() => bus.close())
  return { pipeline: createNotifyingPipeline(bus, ownPipeline), begin }
}

/** Returns the source of IPFS files that aren't in the backend's storage; null if there is none. */
async function openIpfs(
  gateway: string | undefined,
  { ipfsGateway, storage }: ServerSettings,
  options: Omit<GatewayOptions, 'url'>,
): Promise<Gateway | null> {
  const url = gateway ?? ipfsGateway
  if (url !== null) return (await import('./storage/gateway.ts')).createGateway({ url, ...options })
  // The storage already reads the blocks that the IPFS node has. gdn doesn't make the node search for other blocks.
  if (storage.kind !== 'ipfs') return null
  const fetchFile = async (fileUrl: string) => {
    throw new FetchFailure(`the IPFS node did not find ${fileUrl}`, { isLasting: false })
  }
  return { fetchFile, close: async () => {} }
}

/**
 * Creates a poster that loads its HTTP client with the first event, because a backend without webhooks never needs it.
 */
function createLazyPoster(options: PosterOptions): Poster {
  let loading: Promise<Poster> | undefined
  return {
    async post(message) {
      loading ??= import('./pipeline/webhooks/post.ts').then(({ createPoster }) => createPoster(options))
      return (await loading).post(message)
    },
    async close() {
      await (await loading)?.close()
    },
  }
}

/** Opens a pipeline that notifies other processes of accepted requests and doesn't process them itself. */
export async function openNotifier(store: Store, undo: (() => unknown)[]): Promise<OpenedPipeline> {
  const { openBus } = await import('./store/postgres/bus.ts')
  const { createNotifyingPipeline } = await import('./pipeline/notify-others.ts')
  const bus = openBus({ store })
  undo.push(() => bus.close())
  return { pipeline: createNotifyingPipeline(bus), begin() {} }
}

/** Starts publishing stored metadata, if the storage is configured to publish it. */
export async function startPublishing({ publishing }: OpenedStorage, context: PublishContext) {
  if (publishing === null) return undefined
  const step = await import('./pipeline/publish-step.ts')
  return step.startPublishLoops(context, publishing)
}
