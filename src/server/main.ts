import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Server } from 'node:tls'
import { messageOf } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import { closeAll, closeFailed } from './close-all.ts'
import { type CoreOptions, openCore, type Role, toStartError } from './core.ts'
import { removeRunning, writeBackendId, writeRunning } from './data-dir/running.ts'
import { loadServices } from './http/api-routes.ts'
import { type AppOptions, createApp } from './http/app.ts'
import { listen } from './http/listen.ts'
import { readTlsPair, TLS_OPTIONS, type TlsFiles } from './http/tls.ts'
import type { Log } from './log.ts'

type ServerOptions = Pick<
  AppOptions,
  'host' | 'rateLimits' | 'allowedHosts' | 'trustProxy' | 'allowLocalKey' | 'connections' | 'bodyMemory'
> &
  Pick<AppOptions, 'requestTimeoutMs' | 'heartbeatMs'>

export interface BackendOptions extends CoreOptions, ServerOptions {
  role?: Exclude<Role, 'worker'>
  /** The port; 0 selects any free port. */
  port: number
  /** The files for TLS. Without them, the server uses plain HTTP. */
  tls?: TlsFiles | undefined
  /**
   * Time in milliseconds for which new requests are served after a stop signal, so that load balancers can detect the
   * stop. Default: 0.
   */
  drainMs?: number
}

export interface StartedBackend {
  /** URL of the backend, without a trailing slash. */
  url: string
  /** The API key of the data directory's local account. */
  apiKey: Secret
  dataDir: string
  /** Whether other machines can reach the server. */
  exposed: boolean
  /** Reloads the certificate and the key. If they are invalid, the current ones stay in use. Null without TLS. */
  reloadTls: (() => Promise<void>) | null
  /** Descriptions of the fault injection rules, each as a sentence. */
  faults: readonly string[]
  /** Temporary problems during startup, each as one sentence. */
  warnings: readonly string[]
  /**
   * Reports that the backend is about to stop, and serves requests for the drain time, so that load balancers send no
   * more requests before it stops.
   *
   * @param signal ends the drain early
   */
  drain(signal?: AbortSignal): Promise<void>
  /** Stops accepting requests, waits for requests in flight, and terminates all child processes. */
  close(): Promise<void>
}

/**
 * Minimum time in milliseconds for requests in flight to finish when a backend stops. The drain time applies if it is
 * longer.
 */
export const MIN_FINISH_MS = 3000

/**
 * Starts the backend. Resolves when it can mint.
 *
 * @throws GdnError `usage`, `data_dir`, `data_dir_busy`, `port_in_use`, `native_missing`, `invalid_config`,
 * `unreachable`
 */
export async function startBackend(options: BackendOptions): Promise<StartedBackend> {
  const { host, port } = options
  const undo: (() => unknown)[] = []
  try {
    const tls = options.tls === undefined ? undefined : await readTlsPair(options.tls)
    const core = await openCore(options, undo)
    const { dataDir, apiKey, deps, apiVersion, identity, log, metrics, readiness, faults, warnings } = core
    const app = await createApp({ ...options, tls, deps, apiVersion, identity, log, readiness, metrics, faults })
    const { drainMs = 0 } = options
    const markStopping = () => {
      core.markStopping()
      app.draining.begin()
    }
    undo.push(async () => {
      markStopping()
      await app.draining.finish(Math.max(drainMs, MIN_FINISH_MS))
      await app.close()
    })
    const drain = async (signal?: AbortSignal) => {
      if (drainMs === 0) return
      markStopping()
      log.info({ ms: drainMs }, 'draining requests before shutdown')
      await delay(drainMs, undefined, { signal }).catch(() => {})
    }
    const { url, exposed } = await listen(app, { host, port, scheme: tls === undefined ? 'http' : 'https' })
    // Several processes of a cluster may share a data directory, so don't record the URL of any of them.
    if (deps.store.postgres === null) {
      await writeBackendId(dataDir, identity.id)
      await writeRunning(dataDir, url, {
        '--rate-limits': options.rateLimits ? 'on' : 'off',
        '--api-version': apiVersion,
        '--allow-private-files': options.allowPrivateFiles,
        '--allow-html-files': options.allowHtmlFiles ?? false,
        '--ipfs-gateway': options.ipfsGateway ?? '',
        '--require-stored-files': options.requireStoredFiles ?? false,
      })
      undo.push(() => removeRunning(dataDir))
    }
    const descriptions = faults?.descriptions ?? []
    if (descriptions.length > 0) log.warn({ faults: descriptions }, 'fault injection is on')
    if (exposed) log.warn({ url, encrypted: tls !== undefined }, 'other machines can reach this server')
    log.info({ url, dataDir }, 'ready')
    // Run this after the caller has received the result, so that the caller can report readiness first.
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
    throw toStartError(error, options.dataDir)
  }
}

/** Loaders of the code that isn't needed to start. */
const DEFERRED_MODULES = [
  loadServices,
  () => import('./chain/evm/create-signer.ts'),
  () => import('./chain/evm/embedded/embedded-chain.ts'),
  () => import('./chain/evm/embedded/rpc.ts'),
  () => import('./explorer/handlers.ts'),
  () => import('./explorer/watch.ts'),
  () => import('../ipfs/import.ts'),
  () => import('../ipfs/unixfs.ts'),
]

/** Loads the rest of the code while its files exist, because an upgrade of the package would remove them. */
export async function loadRest(): Promise<void> {
  for (const load of DEFERRED_MODULES) {
    // Ignore errors, because the first request that needs the code reports them.
    await load().catch(() => {})
    await nextTurn()
  }
}

/**
 * Returns a function that applies the current TLS files to new connections. Open connections keep their certificate.
 */
function tlsReloader(files: TlsFiles | undefined, server: object, log: Log): StartedBackend['reloadTls'] {
  if (files === undefined || !('setSecureContext' in server)) return null
  const tlsServer = server as Server
  return async () => {
    try {
      tlsServer.setSecureContext({ ...TLS_OPTIONS, ...(await readTlsPair(files)) })
      log.info({ file: files.certFile }, 'the certificate was reloaded')
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the certificate could not be reloaded; the old one stays in use')
    }
  }
}
