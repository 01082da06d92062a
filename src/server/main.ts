import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Server } from 'node:tls'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { forwardClock } from '../core/forward-clock.ts'
import type { Secret } from '../core/secret.ts'
import { createLazyFetcher } from '../files/lazy-fetcher.ts'
import { createPace } from '../files/pace.ts'
import { type ChainsOptions, openChains } from './chain/chains.ts'
import { checkAnvil } from './chain/evm/embedded/check-anvil.ts'
import type { EvmNetwork } from './chain/evm/network.ts'
import { openRemote } from './chain/remote.ts'
import { openEmbeddedSigners } from './chain/signers.ts'
import { isDiskFull } from './data-dir/disk-full.ts'
import { openDataDir } from './data-dir/open.ts'
import { removeRunning, writeRunning } from './data-dir/running.ts'
import { openUrlSecret } from './data-dir/url-secret.ts'
import type { Faults } from './faults/faults.ts'
import { refuseOnRealNetworks } from './faults/real-networks.ts'
import { createApp } from './http/app.ts'
import type { ConnectionLimits } from './http/connections.ts'
import { isLoopbackAddress } from './http/hosts.ts'
import { readTlsPair, TLS_OPTIONS, type TlsFiles } from './http/tls.ts'
import { createLog, type LogLevel } from './log.ts'
import { createMetrics } from './metrics/metrics.ts'
import type { Log } from './pipeline/log.ts'
import { startPipeline } from './pipeline/pipeline.ts'
import { openLocalAccount } from './services/local-account.ts'
import { loadSettings } from './settings/settings.ts'
import { createFileStorage } from './storage/files.ts'
import { blockTable } from './store/block-table.ts'
import { openStore } from './store/open-store.ts'

export interface BackendOptions {
  /** Address to listen on. */
  host: string
  /** 0 picks a free one. */
  port: number
  dataDir: string
  /** Fetch files from private addresses and any port too: for development. */
  allowPrivateFiles: boolean
  /** Store HTML pages too where a file URL leads to one. */
  allowHtmlFiles?: boolean
  rateLimits: boolean
  /** Networks by RPC URL; by default backend.yaml of the data dir, should there be one. */
  settingsFile?: string | undefined
  /** Where systemd puts a service's credentials (CREDENTIALS_DIRECTORY). */
  credentialsDirectory?: string | undefined
  /** A signed URL makes one wallet and no more. */
  singleUseUrls?: boolean
  /** Host headers answered on loopback beside the loopback names; elsewhere, where there are any, beside addresses. */
  allowedHosts: readonly string[]
  /** Speaks TLS with these; without, plain HTTP. */
  tls?: TlsFiles | undefined
  /** Addresses and networks of proxies whose X-Forwarded-* headers are believed. */
  trustProxy?: readonly string[]
  /** Takes the local account's key from other machines too. */
  allowLocalKey?: boolean
  connections?: Partial<ConnectionLimits>
  /** Faults on demand: the text of a file, and its name. */
  faults?: { text: string; file: string } | undefined
  version: string
  logLevel: LogLevel
  /** Where log lines (JSON) go. */
  logStream: { write(line: string): void }
  now?: () => number
  /** Milliseconds on a clock that nobody sets. */
  steadyNow?: () => number
  /** How long a file may take, in milliseconds, and how often it is tried; by default 30 s, eight times. */
  fileFetching?: { timeoutMs: number; maxAttempts: number }
  /** Milliseconds for a request to arrive in full; by default a minute. */
  requestTimeoutMs?: number
  /** Stands between the backend and its chains: for tests of what happens when they fail. */
  wrapNetwork?: (network: EvmNetwork) => EvmNetwork
}

export interface Backend {
  /** Without a trailing slash. */
  url: string
  /** The key of the data dir's own account. */
  apiKey: Secret
  dataDir: string
  /** Whether other machines can reach it. */
  exposed: boolean
  /** Reads certificate and key anew; null without TLS. Should they be no good, the old ones stay. */
  reloadTls: (() => Promise<void>) | null
  /** The faults on demand that are in force, a sentence each. */
  faults: readonly string[]
  /** Stops taking requests, lets what is under way end, and leaves no process behind. */
  close(): Promise<void>
}

/** How long a shutdown waits for work that is under way. */
const DRAIN_MS = 1500

/**
 * Starts the embedded backend; resolves when a mint would work.
 *
 * @throws GdnError `data_dir`, `data_dir_busy`, `port_in_use`, `native_missing`.
 */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  const { host, port, version, now = Date.now } = options
  const dataDir = resolve(options.dataDir)
  const log = createLog(options.logLevel, options.logStream)
  const undo: (() => unknown)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const anvil = checkAnvil()
    // Awaited below; it must not count as unhandled should an earlier step fail.
    anvil.catch(() => {})
    const settings = await loadSettings(dataDir, options.settingsFile)
    const faults = await loadFaults(options)
    const tls = options.tls === undefined ? undefined : await readTlsPair(options.tls)
    const lock = await openDataDir(dataDir)
    undo.push(() => lock.release())
    const opened = await openStore(join(dataDir, 'gdn.db'))
    undo.push(() => opened.close())
    const store = faults === undefined ? opened : { ...opened, onAccepted: faults.onAccepted }
    const apiKey = await openLocalAccount(store, dataDir, now())
    const signers = await openEmbeddedSigners(dataDir)
    const remote = await openRemote({
      db: store.db,
      settings,
      openSigners: async ({ operators }) => {
        const { openSigners } = await import('./settings/open-signer.ts')
        return await openSigners(operators, options.credentialsDirectory)
      },
      now,
    })
    undo.push(() => remote.close())
    const storage = await createFileStorage({ dataDir, blocks: blockTable(store.db, store.transaction) })
    const { allowPrivateFiles: allowPrivate, allowHtmlFiles: allowHtml = false, fileFetching } = options
    const timeoutMs = fileFetching === undefined ? {} : { timeoutMs: fileFetching.timeoutMs }
    const fetcher = createLazyFetcher({
      allowPrivate,
      allowHtml,
      pace: createPace(),
      userAgent: `gdn/${version}`,
      ...timeoutMs,
    })
    undo.push(() => fetcher.close())
    const metrics = createMetrics({ db: store.db, signers: remote.operators, now, version })
    const onEvent: ChainsOptions['onEvent'] = (blockchain, event) => {
      if (event.type === 'died') metrics.observe({ what: 'chain_died', blockchain })
      log.info({ blockchain, ...event }, 'embedded chain')
    }
    const wrapNetwork = options.wrapNetwork ?? ((network) => network)
    const chains = await openChains({ db: store.db, dataDir, signers, remote, now, onEvent, wrapNetwork })
    if (faults !== undefined) refuseOnRealNetworks(chains)
    await anvil
    const pipeline = await startPipeline({
      ...{ store, chains, storage, fetcher, now, log },
      maxFileAttempts: fileFetching?.maxAttempts,
      onFinal: ({ blockchain, kind }, { gasUsed }) =>
        metrics.observe({ what: 'gas', blockchain, kind, gas: Number(gasUsed) }),
    })
    undo.push(async () => {
      // What is under way may end; a chain that holds it up (a long replay, say) is closed over it.
      const stopped = pipeline.stop()
      await Promise.race([stopped, delay(DRAIN_MS, undefined, { ref: false })])
      await chains.close()
      await stopped
    })
    const signedUrls = {
      secret: await openUrlSecret(dataDir),
      singleUse: options.singleUseUrls ?? false,
      clock: forwardClock(now, options.steadyNow),
    }
    const deps = { store, chains, storage, pipeline, signedUrls, now }
    const readiness = async () => {
      const problems: string[] = []
      await store.db
        .selectFrom('chains')
        .select('blockchain')
        .limit(1)
        .execute()
        .catch((error) => {
          problems.push(`the database can't be read: ${messageOf(error)}`)
        })
      return problems
    }
    const app = await createApp({ ...options, tls, deps, log, readiness, metrics, faults })
    undo.push(() => app.close())
    const { url, exposed } = await listen(app, { host, port, scheme: tls === undefined ? 'http' : 'https' })
    await writeRunning(dataDir, url)
    undo.push(() => removeRunning(dataDir))
    const told = faults?.told ?? []
    if (told.length > 0) log.warn({ faults: told }, 'faults on demand are in force')
    if (exposed) log.warn({ url, encrypted: tls !== undefined }, 'other machines can reach this server')
    log.info({ url, dataDir }, 'ready')
    return { url, apiKey, dataDir, exposed, reloadTls: tlsReloader(options.tls, app.server, log), faults: told, close }
  } catch (error) {
    await close()
    if (!isDiskFull(error)) throw error
    throw new GdnError('data_dir', `the disk of the data dir ${dataDir} is full`, {
      hint: 'make room, or choose another folder with --data-dir',
      cause: error,
    })
  }
}

/** Loaded only where faults are asked for: they bring a reader of YAML. */
async function loadFaults({ faults }: BackendOptions): Promise<Faults | undefined> {
  if (faults === undefined) return undefined
  const { createFaults } = await import('./faults/faults.ts')
  return createFaults(faults)
}

/** Renewed files are taken for new connections; those that are open stay. */
function tlsReloader(files: TlsFiles | undefined, server: object, log: Log): Backend['reloadTls'] {
  if (files === undefined || !('setSecureContext' in server)) return null
  const tlsServer = server as Server
  return async () => {
    try {
      tlsServer.setSecureContext({ ...TLS_OPTIONS, ...(await readTlsPair(files)) })
      log.info({ file: files.certFile }, 'the certificate was read anew')
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the certificate could not be read anew: the old one stays')
    }
  }
}

interface Listening {
  listen(options: { host: string; port: number }): Promise<string>
  server: { address(): unknown }
}

async function listen(
  app: Listening,
  { host, port, scheme }: { host: string; port: number; scheme: 'http' | 'https' },
): Promise<{ url: string; exposed: boolean }> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    const code = systemCode(cause)
    if (code === 'EADDRINUSE') {
      throw new GdnError('port_in_use', `port ${port} on ${host} is taken by another program`, {
        hint: 'choose another with --port, or --port 0 for any free one',
        place: { flag: '--port' },
        cause,
      })
    }
    const reason = code === 'EACCES' ? 'needs rights that this user lacks' : `failed: ${messageOf(cause)}`
    throw new GdnError('usage', `listening on ${host}:${port} ${reason}`, {
      hint: 'check --host and --port',
      cause,
    })
  }
  const bound = app.server.address() as { address: string; port: number }
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `${scheme}://${name}:${bound.port}`, exposed: !isLoopbackAddress(bound.address) }
}
