import { closeAll, closeFailed } from './close-all.ts'
import { type CoreOptions, openCore, toStartError } from './core.ts'
import { startHealthServer } from './http/health-server.ts'

export interface WorkerOptions extends Omit<CoreOptions, 'role'> {
  /** Address that serves /healthz, /readyz and /metrics. Default: they are not served. */
  health?: { host: string; port: number } | undefined
}

export interface Worker {
  /** URL of the worker's health endpoints; null if it has none. */
  url: string | null
  /** The database's name in messages. */
  database: string
  /** Temporary problems during startup, each as one sentence. */
  warnings: readonly string[]
  close(): Promise<void>
}

/**
 * Starts a process that accepts no requests. It processes the requests that other processes with the same PostgreSQL
 * database have accepted.
 *
 * @throws GdnError `usage` without PostgreSQL; `data_dir`, `invalid_config`, `unreachable`, `port_in_use`
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const undo: (() => unknown)[] = []
  try {
    const core = await openCore({ ...options, role: 'worker' }, undo)
    const { deps, identity, log, metrics, readiness, warnings } = core
    let url: string | null = null
    if (options.health !== undefined) {
      const health = await startHealthServer(options.health, { version: options.version, identity, readiness, metrics })
      // Close the health server last, so that it reports the shutdown while work in progress finishes.
      undo.unshift(() => health.close())
      url = health.url
    }
    undo.push(core.markStopping)
    core.begin()
    log.info({ url }, 'ready')
    return { url, database: deps.store.postgres?.name ?? '', warnings, close: () => closeAll(undo) }
  } catch (error) {
    await closeFailed(undo)
    throw toStartError(error, options.dataDir)
  }
}
