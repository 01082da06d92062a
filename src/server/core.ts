import { resolve } from 'node:path'
import type { Blockchain } from '../api/blockchains.ts'
import type { ApiVersion } from '../api/versions.ts'
import { GdnError } from '../core/errors.ts'
import { forwardClock } from '../core/forward-clock.ts'
import type { Secret } from '../core/secret.ts'
import { type Chains, type ChainsOptions, openChains } from './chain/chains.ts'
import { checkAnvil } from './chain/evm/embedded/check-anvil.ts'
import { openEmbeddedSigners } from './chain/evm/embedded/embedded-signers.ts'
import type { EvmNetwork } from './chain/evm/network.ts'
import { refuseOtherNetworks } from './chain/remote.ts'
import { databasePath } from './data-dir/database-path.ts'
import { detectCopy } from './data-dir/detect-copy.ts'
import { isDiskFull } from './data-dir/disk-full.ts'
import { openDataDir, openDataDirOfPostgres } from './data-dir/open.ts'
import { openUrlSecret } from './data-dir/url-secret.ts'
import type { Faults } from './faults/faults.ts'
import { refuseOnPublicNetworks } from './faults/public-networks.ts'
import { createLog, type Log, type LogLevel } from './log.ts'
import { createMetrics } from './metrics/metrics.ts'
import type { Metrics } from './metrics/types.ts'
import { type ForkedChain, openNetworks, readNetworkStates } from './open-networks.ts'
import { openNotifier, openPipeline, startPublishing, type WorkOptions } from './open-pipeline.ts'
import type { Loop } from './pipeline/loop.ts'
import { type Readiness, watchReadiness } from './readiness.ts'
import { openLocalAccount } from './services/local-account.ts'
import type { ServiceDeps } from './services/services.ts'
import { type PartialDatabaseSettings, resolveDatabaseSettings } from './settings/database.ts'
import { loadServerSettings } from './settings/settings.ts'
import type { ServerSettings } from './settings/types.ts'
import { createCheckedFiles } from './storage/checked-files.ts'
import { measureStorage } from './storage/measure-storage.ts'
import { openStorage } from './storage/open-storage.ts'
import { type BackendIdentity, findOrCreateIdentity } from './store/identity.ts'
import { openStore, type Store } from './store/open-store.ts'
import { toDatabaseError } from './store/postgres/gone.ts'

/** `api` accepts requests, `worker` processes them, and `all` does both in one process. */
export type Role = 'api' | 'worker' | 'all'

export interface CoreOptions extends WorkOptions {
  dataDir: string
  /**
   * PostgreSQL settings from a flag or the environment. Default: the database of the settings file, or else SQLite in
   * the data directory.
   */
  database?: PartialDatabaseSettings | undefined
  role?: Role
  /** The blockchains that this process serves. Default: all. */
  only?: readonly Blockchain[] | undefined
  /** The file that configures networks by RPC URL. Default: backend.yaml in the data directory, if it exists. */
  settingsFile?: string | undefined
  /** The directory where systemd stores a service's credentials (CREDENTIALS_DIRECTORY). */
  credentialsDirectory?: string | undefined
  /** The environment, which may have standard variables such as AWS_*. */
  env?: NodeJS.ProcessEnv
  /** Whether a signed URL creates only one wallet. */
  singleUseUrls?: boolean
  /** API version for keys that specify none. Default: the version in the settings file. */
  apiVersion?: ApiVersion | undefined
  /** Fault injection: the text of a rules file, and its name. */
  faults?: { text: string; file: string } | undefined
  logLevel: LogLevel
  /** Destination of log lines (JSON). */
  logStream: { write(line: string): void }
  /** Prints a warning or an error for users, as one line without secrets. Called only if the log level is `silent`. */
  warn?: ((line: string) => void) | undefined
  now?: () => number
  /** Returns the milliseconds of a monotonic clock. */
  steadyNow?: () => number
  /**
   * A fork of a public network, with its own signers. It replaces the network that the settings define for the same
   * blockchain.
   */
  fork?: ForkedChain | undefined
  /** Wraps the chains, so that tests can make them fail. */
  wrapNetwork?: (network: EvmNetwork) => EvmNetwork
}

/** The parts of a backend that the API and the worker share. */
export interface Core {
  dataDir: string
  /** The API key of the data directory's local account. */
  apiKey: Secret
  deps: ServiceDeps
  /** API version for keys that specify none. */
  apiVersion: ApiVersion
  identity: BackendIdentity
  log: Log
  metrics: Metrics
  readiness: Readiness
  /** Marks the process as not ready, because it will stop soon. */
  markStopping: () => void
  faults: Faults | undefined
  /** Temporary problems during startup, each as one sentence. */
  warnings: readonly string[]
  /** Starts the pipeline, which resumes pending work first. */
  begin: () => void
}

/**
 * Opens all resources that a backend uses. Adds cleanup functions to `undo`, which must be called in reverse order.
 *
 * @throws GdnError `data_dir`, `data_dir_busy`, `native_missing`, `invalid_config`, `unreachable`.
 */
export async function openCore(options: CoreOptions, undo: (() => unknown)[]): Promise<Core> {
  const { version, role = 'all' } = options
  const dataDir = resolve(options.dataDir)
  const log = await createLog(options.logLevel, options.logStream, options.warn)
  const isWorker = role !== 'api'
  const anvil = isWorker ? checkAnvil() : Promise.resolve()
  // Handle a rejection now, because an earlier step may fail before the promise is awaited below.
  anvil.catch(() => {})
  const settings = withFork(await loadServerSettings(dataDir, options.settingsFile), options.fork)
  const faults = await loadFaults(options)
  const opened = await openData(options, dataDir, undo)
  const now = options.now ?? (await openClock(opened, undo))
  const { credentialsDirectory, env = {} } = options
  const remoteContext = { credentialsDirectory, env, userAgent: `gdn/${version}`, now, log }
  const place = await openStorage({ settings, dataDir, store: opened, ...remoteContext })
  let publishing: Pick<Loop, 'stop'> | undefined
  undo.push(async () => {
    // Close the storage before awaiting the loop, because this aborts a request that the loop may be waiting for.
    const stopped = publishing?.stop()
    await place.close()
    await stopped
  })
  const storage = measureStorage(place.files, (observation) => metrics.observe({ what: 'storage', ...observation }))
  const checkedFiles = createCheckedFiles()
  const store = { ...opened, publishTo: place.publishing?.first, ...(faults && { onAccepted: faults.onAccepted }) }
  if (opened.postgres === null) await detectCopy(store.db, dataDir)
  const identity = await findOrCreateIdentity(store.db)
  const apiKey = await openLocalAccount(store, dataDir, now())
  const signers = await openEmbeddedSigners(dataDir, store)
  // Create the metrics before the parts of the backend that they read, because these parts report their requests to the
  // metrics.
  const metrics = createMetrics({
    db: store.db,
    now,
    version,
    dataDir,
    signers: () => [...networks.remote.signerBalances(), ...networks.clusters.signerBalances()],
    readNetworkStates: () => readNetworkStates(networks),
    ready: () => readiness(),
  })
  await refuseOtherNetworks(store.db, settings)
  const networks = await openNetworks(
    {
      db: store.db,
      settings,
      canSign: isWorker,
      fork: options.fork,
      credentialsDirectory,
      now,
      log,
      onRequest: (blockchain, provider, outcome) => metrics.observe({ what: 'rpc', blockchain, provider, outcome }),
    },
    undo,
  )
  const { check: readiness, markStopping } = watchReadiness({
    store,
    storage: place,
    networks: [networks.remote, networks.clusters],
    dataDir,
  })
  const onEvent: ChainsOptions['onEvent'] = (blockchain, event) => {
    if (event.type === 'died') metrics.observe({ what: 'chain_died', blockchain })
    log.info({ blockchain, ...event }, 'embedded chain')
  }
  const chains = await openChains({
    db: store.db,
    postgresStore: store.postgres === null ? null : store,
    only: options.only === undefined ? undefined : new Set(options.only),
    dataDir,
    signers,
    ...networks,
    now,
    onEvent,
    wrapNetwork: options.wrapNetwork ?? ((network) => network),
  })
  undo.push(() => chains.close())
  if (faults !== undefined) refuseOnPublicNetworks(chains)
  await anvil
  if (isWorker && store.postgres !== null) await ownEmbeddedChains(store, chains, log, undo)
  const { pipeline, begin } = isWorker
    ? await openPipeline({ store, chains, storage, checkedFiles, now, log, metrics, settings }, options, undo)
    : await openNotifier(store, undo)
  if (isWorker) {
    place.startUpkeep()
    publishing = await startPublishing(place, { store: opened, now, log, retryMs: options.publishRetryMs })
  }
  const signedUrls = {
    secret: await openUrlSecret(dataDir, store),
    singleUse: options.singleUseUrls ?? false,
    clock: forwardClock(now, options.steadyNow),
  }
  const deps = { store, chains, storage, checkedFiles, pipeline, signedUrls, now }
  const warnings = place.problems()
  const apiVersion = options.apiVersion ?? settings.apiVersion
  return {
    dataDir,
    apiKey,
    deps,
    apiVersion,
    identity,
    log,
    metrics,
    readiness,
    markStopping,
    faults,
    warnings,
    begin,
  }
}

/** Ensures that only one process of a cluster at a time runs the embedded chains. */
async function ownEmbeddedChains(store: Store, chains: Chains, log: Log, undo: (() => unknown)[]): Promise<void> {
  const { acquireExclusiveRole } = await import('./store/postgres/only-one.ts')
  const owner = await acquireExclusiveRole(store, 'embedded chains', async (held) => {
    log.info({ held }, held ? 'this process runs the embedded chains' : 'this process no longer runs embedded chains')
    await chains.setRunsEmbedded(held)
  })
  undo.push(async () => {
    // Close the chains before another process may run them.
    await chains.close()
    await owner.close()
  })
}

function withFork(settings: ServerSettings, fork: ForkedChain | undefined): ServerSettings {
  if (fork === undefined) return settings
  return { ...settings, chains: new Map(settings.chains).set(fork.settings.blockchain, fork.settings) }
}

/** Opens the data directory and the database, which is SQLite for one process, or PostgreSQL for a cluster. */
async function openData(options: CoreOptions, dataDir: string, undo: (() => unknown)[]): Promise<Store> {
  const { settingsFile, database, role = 'all' } = options
  const place = await resolveDatabaseSettings({ dataDir, settingsFile, database })
  if (place === null && role !== 'all') {
    throw new GdnError('usage', `a process with the role ${role} requires PostgreSQL`, {
      hint: 'Set GDN_DATABASE_URL, --database-url, or database_url_file in backend.yaml.',
    })
  }
  if (place === null) {
    const lock = await openDataDir(dataDir)
    undo.push(() => lock.release())
  } else await openDataDirOfPostgres(dataDir)
  const { openPostgres } = place === null ? {} : await import('./store/postgres/open-postgres.ts')
  const opened =
    place === null || openPostgres === undefined ? await openStore(databasePath(dataDir)) : await openPostgres(place)
  undo.push(() => opened.close())
  return opened
}

/** Returns the clock for due times. All processes that use the same database share this clock. */
async function openClock(store: Store, undo: (() => unknown)[]): Promise<() => number> {
  if (store.postgres === null) return Date.now
  const { startDatabaseClock } = await import('./store/postgres/clock.ts')
  const clock = await startDatabaseClock(store.db)
  undo.push(() => clock.close())
  return clock.now
}

/** Loads the fault injection module. It includes a YAML parser, so it is loaded only if faults are configured. */
async function loadFaults({ faults }: CoreOptions): Promise<Faults | undefined> {
  if (faults === undefined) return undefined
  const { createFaults } = await import('./faults/faults.ts')
  return createFaults(faults)
}

/** Returns the error to report if a start fails. Explains errors that a full disk or a lost database caused. */
export function toStartError(error: unknown, dataDir: string): unknown {
  if (!isDiskFull(error)) return toDatabaseError(error)
  return new GdnError('data_dir', `the disk of the data directory ${dataDir} is full`, {
    hint: 'Free disk space, or choose another directory with --data-dir.',
    cause: error,
  })
}
