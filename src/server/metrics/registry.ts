import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry as PromRegistry } from 'prom-client'
import { shareInFlight } from '../../core/share-in-flight.ts'
import { WEBHOOK_STATUSES, webhookStatus } from '../pipeline/webhooks/schedule.ts'
import { chainHeights, type Depth, pipelineDepths } from '../store/depths.ts'
import { listLastReadBlocks } from '../store/owner-events.ts'
import { countPendingDeliveries } from '../store/webhook-deliveries.ts'
import { listWebhookRows } from '../store/webhooks.ts'
import type { MetricEvent, Metrics, MetricsOptions } from './types.ts'

export type Registry = Metrics

/**
 * Maximum time in milliseconds that a scrape waits for the database. By default, Prometheus waits 10 s for a scrape.
 */
const DATABASE_WITHIN_MS = 5000
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates the prom-client metrics of this process, and those that each scrape reads from the database. */
export function createRegistry(options: MetricsOptions): Registry {
  const { version, ready, dataDir } = options
  const registry = new PromRegistry()
  const events = eventMetrics(registry)
  const metrics = stateMetrics(registry)
  metrics.buildInfo.set({ version }, 1)
  let scraped = false

  const scrape = async () => {
    // The default metrics monitor the event loop, which is useful only if the backend is scraped.
    if (!scraped) collectDefaultMetrics({ register: registry })
    scraped = true
    const [isAvailable, condition, diskSpace] = await Promise.all([
      readDatabaseInTime(options, metrics),
      ready(),
      statfs(dataDir).catch(() => null),
      readNetworks(options, metrics),
    ])
    metrics.database.set(isAvailable ? 1 : 0)
    metrics.isReady.set(condition.problems.length === 0 ? 1 : 0)
    if (diskSpace !== null) metrics.disk.set(diskSpace.bavail * diskSpace.bsize)
    return { text: await registry.metrics(), type: registry.contentType }
  }

  return {
    observe: (observation) => observe(events, observation),
    // Concurrent requests share one scrape, because any client may send requests, and each scrape runs queries.
    scrape: shareInFlight(scrape),
  }
}

type EventMetrics = ReturnType<typeof eventMetrics>
type StateMetrics = ReturnType<typeof stateMetrics>

/** Creates the metrics that count events of this process. */
function eventMetrics(registry: PromRegistry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS_SECONDS, registers })
  return {
    requests: counter('gdn_http_requests_total', 'HTTP requests that received a response', 'method', 'route', 'status'),
    durations: histogram(
      'gdn_http_request_duration_seconds',
      'Time from the arrival of a request to the end of its response',
      'method',
      'route',
    ),
    gas: counter(
      'gdn_gas_used_total',
      'Gas used by transactions that this process recorded as final',
      'blockchain',
      'kind',
    ),
    deployed: counter(
      'gdn_nfts_deployed_total',
      'NFTs created by transactions that this process recorded as final',
      'blockchain',
    ),
    files: histogram(
      'gdn_storage_operation_duration_seconds',
      'Duration of storage operations on files, including the time to send or receive a file',
      'operation',
      'outcome',
    ),
    bytes: counter('gdn_storage_bytes_total', 'Bytes of files stored (add) and read by this process', 'operation'),
    restarts: counter(
      'gdn_chain_restarts_total',
      'Nodes of embedded chains that exited unexpectedly and were replaced',
      'blockchain',
    ),
    webhooks: counter(
      'gdn_webhook_attempts_total',
      'Webhook delivery attempts of this process: delivered, retried, failed',
      'outcome',
    ),
    rpc: counter(
      'gdn_rpc_requests_total',
      'Requests of this process to RPC providers: answered, refused, limited (rate limited), failed',
      'blockchain',
      'provider',
      'outcome',
    ),
  }
}

/** Creates the metrics that each scrape sets. */
function stateMetrics(registry: PromRegistry) {
  const registers = [registry]
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers })
  return {
    waiting: gauge('gdn_pipeline_waiting', 'Pending NFTs, collections and transactions by pipeline step', 'step'),
    oldest: gauge(
      'gdn_pipeline_oldest_seconds',
      'Age of the oldest pending item at a step; 0 if there is none',
      'step',
    ),
    unsettled: gauge('gdn_transactions_unsettled', 'Transactions that are signed but not final', 'blockchain'),
    height: gauge('gdn_chain_height', 'Last block of an embedded chain', 'blockchain'),
    followed: gauge(
      'gdn_owners_followed_block',
      'Highest block whose transfers and setting changes have been read by at least one process',
      'blockchain',
    ),
    funds: gauge('gdn_signer_balance_coins', 'Balance of a signer, in coins such as POL', 'blockchain', 'signer'),
    hindrance: gauge(
      'gdn_network_hindered',
      '1 while a public network does not respond, or none of its signers can sign or pay',
      'blockchain',
    ),
    pendingDeliveries: gauge('gdn_webhook_deliveries_waiting', 'Pending webhook deliveries'),
    hooks: gauge('gdn_webhooks', 'Webhooks by status: active, failing (for several minutes) or disabled', 'status'),
    isReady: gauge('gdn_ready', 'Whether this process is ready, as /readyz reports'),
    database: gauge('gdn_database_up', 'Whether the database responded to this scrape'),
    disk: gauge('gdn_data_dir_free_bytes', 'Free space on the disk of the data directory'),
    buildInfo: gauge('gdn_build_info', 'Version of gdn', 'version'),
  }
}

function observe(metrics: EventMetrics, observation: MetricEvent) {
  switch (observation.what) {
    case 'request': {
      const { method, route, status, seconds } = observation
      metrics.requests.inc({ method, route, status })
      metrics.durations.observe({ method, route }, seconds)
      return
    }
    case 'transaction': {
      const { blockchain, kind, nfts } = observation
      metrics.gas.inc({ blockchain, kind }, observation.gas)
      if (nfts > 0) metrics.deployed.inc({ blockchain }, nfts)
      return
    }
    case 'storage': {
      const { operation, outcome, seconds } = observation
      metrics.files.observe({ operation, outcome }, seconds)
      if (observation.bytes > 0) metrics.bytes.inc({ operation }, observation.bytes)
      return
    }
    case 'rpc': {
      const { blockchain, provider, outcome } = observation
      return metrics.rpc.inc({ blockchain, provider, outcome })
    }
    case 'webhook':
      return metrics.webhooks.inc({ outcome: observation.outcome })
    case 'chain_died':
      return metrics.restarts.inc({ blockchain: observation.blockchain })
  }
}

async function readDatabase({ db, now }: MetricsOptions, metrics: StateMetrics): Promise<void> {
  const { nfts, collections, transactions } = await pipelineDepths(db)
  const signed = [...transactions.values()]
  const sinces = signed.flatMap(({ since }) => since ?? [])
  const all: Record<string, Depth> = {
    collection: collections,
    ...nfts,
    transaction: {
      count: signed.reduce((sum, { count }) => sum + count, 0),
      since: sinces.length === 0 ? null : Math.min(...sinces),
    },
  }
  for (const [step, { count, since }] of Object.entries(all)) {
    metrics.waiting.set({ step }, count)
    metrics.oldest.set({ step }, since === null ? 0 : Math.max(0, (now() - since) / 1000))
  }
  metrics.pendingDeliveries.set(await countPendingDeliveries(db))
  const statuses = (await listWebhookRows(db)).map((row) => webhookStatus(row, now()))
  for (const status of WEBHOOK_STATUSES)
    metrics.hooks.set({ status }, statuses.filter((other) => other === status).length)
  for (const { blockchain, block } of await listLastReadBlocks(db)) metrics.followed.set({ blockchain }, block)
  for (const [blockchain, block] of await chainHeights(db)) {
    metrics.height.set({ blockchain }, block)
    metrics.unsettled.set({ blockchain }, transactions.get(blockchain)?.count ?? 0)
  }
}

async function readNetworks({ signers, readNetworkStates }: MetricsOptions, metrics: StateMetrics): Promise<void> {
  for (const { blockchain, address, coins } of signers()) metrics.funds.set({ blockchain, signer: address }, coins)
  for (const { blockchain, isHindered } of await readNetworkStates())
    metrics.hindrance.set({ blockchain }, isHindered ? 1 : 0)
}

/**
 * Reads metrics from the database. Returns whether the database responded in time. If it didn't, resets the metrics,
 * because their last values are outdated.
 */
async function readDatabaseInTime(options: MetricsOptions, metrics: StateMetrics): Promise<boolean> {
  const late = delay(DATABASE_WITHIN_MS, false, { ref: false })
  const isAvailable = await Promise.race([late, readDatabase(options, metrics).then(always, never)])
  const { waiting, oldest, unsettled, height, followed, pendingDeliveries, hooks } = metrics
  if (!isAvailable)
    for (const metric of [waiting, oldest, unsettled, height, followed, pendingDeliveries, hooks]) metric.reset()
  return isAvailable
}

const always = () => true
const never = () => false
