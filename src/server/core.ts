import { join, resolve } from 'node:path'
import type { Blockchain } from '../api/blockchains.ts'
import { GdnError } from '../core/errors.ts'
import { forwardClock } from '../core/forward-clock.ts'
import type { Secret } from '../core/secret.ts'
import { type ChainsOptions, openChains } from './chain/chains.ts'
import { checkAnvil } from './chain/evm/embedded/check-anvil.ts'
import { openEmbeddedSigners } from './chain/evm/embedded/embedded-signers.ts'
import type { EvmNetwork } from './chain/evm/network.ts'
import type { RemoteChainsOptions } from './chain/evm/remote/remote-chains.ts'
import { openRemote, refuseOtherNetworks } from './chain/remote.ts'
import { createProviders } from './chain/rpc/providers.ts'
import { openClusters } from './chain/solana/clusters.ts'
import { noticeCopy } from './data-dir/copied.ts'
import { isDiskFull } from './data-dir/disk-full.ts'
import { openDataDir, openDataDirOfPostgres } from './data-dir/open.ts'
import { openUrlSecret } from './data-dir/url-secret.ts'
import type { Faults } from './faults/faults.ts'
import { refuseOnPublicNetworks } from './faults/public-networks.ts'
import type { Log } from './log.ts'
import { createLog, type LogLevel } from './log.ts'
import { createMetrics } from './metrics/metrics.ts'
import type { Metrics } from './metrics/types.ts'
import type { Loop } from './pipeline/loop.ts'
import type { Readiness } from './readiness.ts'
import { watchReadiness } from './readiness.ts'
import { openLocalAccount } from './services/local-account.ts'
import type { ServiceDeps } from './services/services.ts'
import { type DatabaseSettings, databaseOf } from './settings/database.ts'
import { loadSettings } from './settings/settings.ts'
import { createCheckedFiles } from './storage/checked-files.ts'
import { measured } from './storage/measured.ts'
import { openStorage } from './storage/open-storage.ts'
import { type Identity, keepIdentity } from './store/identity.ts'
import { openStore, type Store } from './store/open-store.ts'
import { toldOfDatabase } from './store/postgres/gone.ts'
import { openNotifier, openPipeline, startPublishing, type WorkOptions } from './work.ts'

/** api: takes requests · worker: does the work · all: both, as one process that has its data dir to itself does */
export type Role = 'api' | 'worker' | 'all'

export interface CoreOptions extends WorkOptions {
  dataDir: string
  /** PostgreSQL, by flag or environment; by default what the settings file says, else SQLite in the data dir. */
  database?: Partial<DatabaseSettings> | undefined
  role?: Role
  /** Blockchains to work on; by default all. */
  only?: readonly Blockchain[] | undefined
  /** Networks by RPC URL; by default backend.yaml of the data dir, should there be one. */
  settingsFile?: string | undefined
  /** Where systemd puts a service's credentials (CREDENTIALS_DIRECTORY). */
  credentialsDirectory?: string | undefined
  /** The environment, for what is looked for there by custom: AWS_* variables. */
  env?: NodeJS.ProcessEnv
  /** A signed URL makes one wallet and no more. */
  singleUseUrls?: boolean
  /** Fault injection: the text of a file of rules, and its name. */
  faults?: { text: string; file: string } | undefined
  logLevel: LogLevel
  /** Where log lines (JSON) go. */
  logStream: { write(line: string): void }
  now?: () => number
  /** Milliseconds on a clock that nobody sets. */
  steadyNow?: () => number
  /** Stands between the backend and its chains: for tests of what happens when they fail. */
  wrapNetwork?: (network: EvmNetwork) => EvmNetwork
}

/** A backend without a face: what takes requests and what does the work have it in common. */
export interface Core {
  dataDir: string
  /** The key of the data dir's own account. */
  apiKey: Secret
  deps: ServiceDeps
  identity: Identity
  log: Log
  metrics: Metrics
  readiness: Readiness
  /** From now on it counts as not ready: it is about to end. */
  stopping: () => void
  faults: Faults | undefined
  /** What is in the way at the start and may pass, a sentence each. */
  warnings: readonly string[]
  /** Starts the pipeline, which takes up pending work first. */
  begin: () => void
}

/**
 * Opens all that a backend works with; what ends it again is put into `undo`, to be done from the end.
 *
 * @throws GdnError `data_dir`, `data_dir_busy`, `native_missing`, `invalid_config`, `unreachable`.
 */
export async function openCore(options: CoreOptions, undo: (() => unknown)[]): Promise<Core> {
  const { version, role = 'all' } = options
  const dataDir = resolve(options.dataDir)
  const log = await createLog(options.logLevel, options.logStream)
  const works = role !== 'api'
  const anvil = works ? checkAnvil() : Promise.resolve()
  // Awaited below; it must not count as unhandled should an earlier step fail.
  anvil.catch(() => {})
  const settings = await loadSettings(dataDir, options.settingsFile)
  const faults = await loadFaults(options)
  const opened = await openData(options, dataDir, undo)
  const now = options.now ?? (await clockOf(opened, undo))
  const { credentialsDirectory, env = {} } = options
  const surroundings = { credentialsDirectory, env, userAgent: `gdn/${version}`, now, log }
  const place = await openStorage({ settings, dataDir, store: opened, ...surroundings })
  let publishing: Pick<Loop, 'stop'> | undefined
  undo.push(async () => {
    // A turn that waits for an answer ends when the connections of the storage are closed.
    const stopped = publishing?.stop()
    await place.close()
    await stopped
  })
  const storage = measured(place.files, (observation) => metrics.observe({ what: 'storage', ...observation }))
  const checkedFiles = createCheckedFiles()
  const store = { ...opened, publishTo: place.publishing?.first, ...(faults && { onAccepted: faults.onAccepted }) }
  if (opened.postgres === null) await noticeCopy(store.db, dataDir)
  const identity = await keepIdentity(store.db)
  const apiKey = await openLocalAccount(store, dataDir, now())
  const signers = await openEmbeddedSigners(dataDir, store)
  // Those that it tells of are opened below, and tell it of their requests.
  const metrics = createMetrics({
    ...{ db: store.db, now, version, dataDir },
    signers: () => [...remote.signers(), ...clusters.signers()],
    hindered: async () => {
      const networks = [remote, clusters]
      const unreachable = new Set(
        (await Promise.all(networks.map((some) => some.unreachable()))).flat().map((one) => one.blockchain),
      )
      const all = networks.flatMap(({ blockchains }) => blockchains)
      return all.map((blockchain) => ({ blockchain, isHindered: unreachable.has(blockchain) }))
    },
    ready: () => readiness(),
  })
  await refuseOtherNetworks(store.db, settings)
  const onRequest: RemoteChainsOptions['onRequest'] = (blockchain, provider, outcome) =>
    metrics.observe({ what: 'rpc', blockchain, provider, outcome })
  const byUrl = [...settings.chains.values(), ...settings.clusters.values()]
  const providers = createProviders(byUrl.flatMap(({ requestLimits }) => [...requestLimits]))
  const remote = await openRemote({
    db: store.db,
    settings: settings.chains,
    openSigners: async ({ operators }) => {
      const { openAddresses, openSigners } = await import('./chain/evm/open-signer.ts')
      if (!works) return openAddresses(operators)
      return await openSigners(operators, credentialsDirectory)
    },
    ...{ now, providers, onRequest },
  })
  undo.push(() => remote.close())
  const clusters = await openClusters({
    db: store.db,
    settings: settings.clusters,
    openSigner: async ({ signer }) => {
      if (!works) return null
      const { openKeypair } = await import('./chain/solana/open-keypair.ts')
      return openKeypair(signer, credentialsDirectory)
    },
    ...{ providers, onRequest },
  })
  undo.push(() => clusters.close())
  const { ask: readiness, stopping } = watchReadiness({ store, storage: place, networks: [remote, clusters], dataDir })
  const onEvent: ChainsOptions['onEvent'] = (blockchain, event) => {
    if (event.type === 'died') metrics.observe({ what: 'chain_died', blockchain })
    log.info({ blockchain, ...event }, 'embedded chain')
  }
  const chains = await openChains({
    db: store.db,
    postgresStore: store.postgres === null ? null : store,
    only: options.only === undefined ? undefined : new Set(options.only),
    ...{ dataDir, signers, remote, clusters, now, onEvent },
    wrapNetwork: options.wrapNetwork ?? ((network) => network),
  })
  undo.push(() => chains.close())
  if (faults !== undefined) refuseOnPublicNetworks(chains)
  await anvil
  if (works && store.postgres !== null) {
    const { holdOnlyOne } = await import('./store/postgres/only-one.ts')
    const owner = await holdOnlyOne(store, 'embedded chains', async (held) => {
      log.info({ held }, held ? 'this process runs the embedded chains' : 'this process no longer runs embedded chains')
      await chains.own(held)
    })
    undo.push(async () => {
      // Nobody else may have them before.
      await chains.close()
      await owner.close()
    })
  }
  const { pipeline, begin } = works
    ? await openPipeline({ store, chains, storage, checkedFiles, now, log, metrics, settings }, options, undo)
    : await openNotifier(store, undo)
  if (works) {
    place.startUpkeep()
    publishing = await startPublishing(place, { store: opened, now, log })
  }
  const signedUrls = {
    secret: await openUrlSecret(dataDir, store),
    singleUse: options.singleUseUrls ?? false,
    clock: forwardClock(now, options.steadyNow),
  }
  const deps = { store, chains, storage, checkedFiles, pipeline, signedUrls, comparedGroups: new Set<string>(), now }
  const warnings = place.problems()
  return { dataDir, apiKey, deps, identity, log, metrics, readiness, stopping, faults, warnings, begin }
}

/** The folder and its database: SQLite, which the process has to itself, or PostgreSQL, which it shares. */
async function openData(options: CoreOptions, dataDir: string, undo: (() => unknown)[]): Promise<Store> {
  const { settingsFile, database, role = 'all' } = options
  const place = await databaseOf({ dataDir, settingsFile, database })
  if (place === null && role !== 'all') {
    throw new GdnError('usage', `a process that is only ${role === 'api' ? 'an API' : 'a worker'} needs PostgreSQL`, {
      hint: 'name its database by GDN_DATABASE_URL, --database-url or database_url_file in backend.yaml',
    })
  }
  if (place === null) {
    const lock = await openDataDir(dataDir)
    undo.push(() => lock.release())
  } else await openDataDirOfPostgres(dataDir)
  const { openPostgres } = place === null ? {} : await import('./store/postgres/open-postgres.ts')
  const opened =
    place === null || openPostgres === undefined ? await openStore(join(dataDir, 'gdn.db')) : await openPostgres(place)
  undo.push(() => opened.close())
  return opened
}

/** What is due is due by the clock that all who share a database have in common. */
async function clockOf(store: Store, undo: (() => unknown)[]): Promise<() => number> {
  if (store.postgres === null) return Date.now
  const { startDatabaseClock } = await import('./store/postgres/clock.ts')
  const clock = await startDatabaseClock(store.db)
  undo.push(() => clock.close())
  return clock.now
}

/** Loaded only where faults are asked for: they bring a reader of YAML. */
async function loadFaults({ faults }: CoreOptions): Promise<Faults | undefined> {
  if (faults === undefined) return undefined
  const { createFaults } = await import('./faults/faults.ts')
  return createFaults(faults)
}

/** A disk that is full is told by the folder that is on it, and a database that went away as what it is. */
export function explainStartFailure(error: unknown, dataDir: string): unknown {
  if (!isDiskFull(error)) return toldOfDatabase(error)
  return new GdnError('data_dir', `the disk of the data dir ${dataDir} is full`, {
    hint: 'make room, or choose another folder with --data-dir',
    cause: error,
  })
}
