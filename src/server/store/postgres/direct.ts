import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** A resource that exists as long as a connection to the server itself. */
export interface DirectConnection {
  close(): Promise<void>
}

const MIN_RETRY_DELAY_MS = 200
const MAX_RETRY_DELAY_MS = 5000
const CHECK_INTERVAL_MS = 3000
const QUERY_TIMEOUT_MS = 5000

export interface DirectConnectionOptions {
  config: pg.ClientConfig
  /** Prepares a new connection. If it returns false, another connection is tried later. */
  prepare(client: pg.Client): Promise<boolean>
  /** Called when a prepared connection is lost. */
  onLost(): void | Promise<void>
}

/**
 * Keeps a dedicated connection to the server, and reopens it if it is lost. Checks the connection every three seconds,
 * because a server on a failed machine doesn't close its connections.
 */
export function keepDirectConnection({ config, prepare, onLost }: DirectConnectionOptions): DirectConnection {
  const closing = new AbortController()
  const { signal } = closing

  const once = async (): Promise<boolean> => {
    const client = new pg.Client({ ...config, query_timeout: QUERY_TIMEOUT_MS })
    const connectionLost = new Promise<void>((resolve) => {
      client.once('error', () => resolve())
      client.once('end', () => resolve())
    })
    // Ignore further errors after the first one.
    client.on('error', () => {})
    const disconnect = () => void client.end().catch(() => {})
    let opened = false
    try {
      await client.connect()
      signal.addEventListener('abort', disconnect, { once: true })
      opened = !signal.aborted && (await prepare(client))
      while (opened && !signal.aborted) {
        const isGone = await Promise.race([connectionLost.then(() => true), pause(CHECK_INTERVAL_MS, signal)])
        if (isGone === true || signal.aborted) break
        await client.query('select 1')
      }
    } catch {
      // Handle an error like a lost connection.
    } finally {
      signal.removeEventListener('abort', disconnect)
      // Don't wait for a graceful disconnect, because a pending query would delay it.
      await Promise.race([client.end().catch(() => {}), delay(MIN_RETRY_DELAY_MS, undefined, { ref: false })])
      if (opened) await onLost()
    }
    return opened
  }

  const running = (async () => {
    for (let wait = MIN_RETRY_DELAY_MS; !signal.aborted; wait = Math.min(wait * 2, MAX_RETRY_DELAY_MS)) {
      if (await once()) wait = MIN_RETRY_DELAY_MS
      await pause(wait * (0.5 + Math.random() / 2), signal)
    }
  })()

  return {
    async close() {
      closing.abort()
      await running
    },
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { ref: false, signal }).catch(() => {})
