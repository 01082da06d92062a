import { closeAll, closeFailed } from './close-all.ts'
import { type CoreOptions, explainStartFailure, openCore } from './core.ts'
import { startHealthServer } from './http/health-server.ts'

export interface WorkerOptions extends Omit<CoreOptions, 'role'> {
  /** Where to answer /healthz, /readyz and /metrics; by default nowhere. */
  health?: { host: string; port: number } | undefined
}

export interface Worker {
  /** Of its health; null where nothing is answered. */
  url: string | null
  /** What its database may be called in messages. */
  database: string
  /** What is in the way at the start and may pass, a sentence each. */
  warnings: readonly string[]
  close(): Promise<void>
}

/**
 * Starts a process that takes no requests and does the work of others that share its PostgreSQL database.
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
      // The last to go: while the work ends, it says so.
      undo.unshift(() => health.close())
      url = health.url
    }
    undo.push(core.stopping)
    core.begin()
    log.info({ url }, 'ready')
    return { url, database: deps.store.postgres?.name ?? '', warnings, close: () => closeAll(undo) }
  } catch (error) {
    await closeFailed(undo)
    throw explainStartFailure(error, options.dataDir)
  }
}
