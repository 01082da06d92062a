import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Server } from 'node:tls'
import { messageOf } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import { closeAll, closeFailed } from './close-all.ts'
import { type CoreOptions, explainStartFailure, openCore, type Role } from './core.ts'
import { removeRunning, writeBackendId, writeRunning } from './data-dir/running.ts'
import { loadServices } from './http/api-routes.ts'
import { createApp } from './http/app.ts'
import type { BodyMemory } from './http/body-memory.ts'
import type { ConnectionLimits } from './http/connections.ts'
import { listen } from './http/listen.ts'
import { readTlsPair, TLS_OPTIONS, type TlsFiles } from './http/tls.ts'
import type { Log } from './log.ts'

export interface BackendOptions extends CoreOptions {
  role?: Exclude<Role, 'worker'>
  /** Address to listen on. */
  host: string
  /** 0 picks a free one. */
  port: number
  rateLimits: boolean
  /** Host headers answered on loopback beside the loopback names; elsewhere, where there are any, beside addresses. */
  allowedHosts: readonly string[]
  /** Speaks TLS with these; without, plain HTTP. */
  tls?: TlsFiles | undefined
  /** Addresses and networks of proxies whose X-Forwarded-* headers are believed. */
  trustProxy?: readonly string[]
  /** Takes the local account's key from other machines too. */
  allowLocalKey?: boolean
  connections?: Partial<ConnectionLimits>
  bodyMemory?: Partial<BodyMemory>
  /** Milliseconds for a request to arrive in full; by default a minute. */
  requestTimeoutMs?: number
  /** How often who listens to events hears that the connection is open, in milliseconds; by default 15 s. */
  heartbeatMs?: number
  /** Milliseconds between being told to stop and taking no more requests, in which others notice; by default none. */
  drainMs?: number
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
  /** The rules of fault injection, a sentence each. */
  faults: readonly string[]
  /** What is in the way at the start and may pass, a sentence each. */
  warnings: readonly string[]
  /**
   * Says that it is about to stop, and goes on answering for as long as it was told to, so that nobody is sent here any
   * more when it stops.
   *
   * @param enough cuts it short
   */
  drain(enough?: AbortSignal): Promise<void>
  /** Stops taking requests, lets what is under way end, and leaves no process behind. */
  close(): Promise<void>
}

/** Minimum time for requests in flight to finish when a backend stops; they get as long as it drained. */
export const MIN_FINISH_MS = 3000

/**
 * Starts the backend; resolves when a mint would work.
 *
 * @throws GdnError `data_dir`, `data_dir_busy`, `port_in_use`, `native_missing`, `invalid_config`, `unreachable`.
 */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  const { host, port } = options
  const undo: (() => unknown)[] = []
  try {
    const tls = options.tls === undefined ? undefined : await readTlsPair(options.tls)
    const core = await openCore(options, undo)
    const { dataDir, apiKey, deps, identity, log, metrics, readiness, faults, warnings } = core
    const app = await createApp({ ...options, tls, deps, identity, log, readiness, metrics, faults })
    const { drainMs = 0 } = options
    const stopping = () => {
      core.stopping()
      app.draining.begin()
    }
    undo.push(async () => {
      stopping()
      await app.draining.finish(Math.max(drainMs, MIN_FINISH_MS))
      await app.close()
    })
    const drain = async (enough?: AbortSignal) => {
      if (drainMs === 0) return
      stopping()
      log.info({ ms: drainMs }, 'about to stop')
      await delay(drainMs, undefined, enough === undefined ? {} : { signal: enough }).catch(() => {})
    }
    const { url, exposed } = await listen(app, { host, port, scheme: tls === undefined ? 'http' : 'https' })
    // A folder that several processes have in common can't say where the one serves.
    if (deps.store.postgres === null) {
      await writeBackendId(dataDir, identity.id)
      await writeRunning(dataDir, url)
      undo.push(() => removeRunning(dataDir))
    }
    const descriptions = faults?.descriptions ?? []
    if (descriptions.length > 0) log.warn({ faults: descriptions }, 'fault injection is on')
    if (exposed) log.warn({ url, encrypted: tls !== undefined }, 'other machines can reach this server')
    log.info({ url, dataDir }, 'ready')
    // The caller hears first that the backend is ready.
    setImmediate(() => {
      core.begin()
      void loadRest()
    })
    const reloadTls = tlsReloader(options.tls, app.server, log)
    return {
      url,
      apiKey,
      dataDir,
      exposed,
      reloadTls,
      faults: descriptions,
      warnings,
      drain,
      close: () => closeAll(undo),
    }
  } catch (error) {
    await closeFailed(undo)
    throw explainStartFailure(error, options.dataDir)
  }
}

/** The code that a start without work doesn't need. */
const REST = [
  loadServices,
  () => import('./chain/evm/create-signer.ts'),
  () => import('./chain/evm/embedded/embedded-chain.ts'),
  () => import('./chain/evm/embedded/rpc.ts'),
  () => import('./explorer/answers.ts'),
  () => import('./explorer/watch.ts'),
  () => import('./storage/import.ts'),
  () => import('./storage/unixfs.ts'),
]

/** Loads the rest of the code while its files are there: an upgrade of the package removes them. */
export async function loadRest(): Promise<void> {
  for (const load of REST) {
    // A request that needs it tells what is wrong.
    await load().catch(() => {})
    await nextTurn()
  }
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
