import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { chunksOf } from '../../../core/chunks-of.ts'
import type { Store } from '../open-store.ts'
import { type DirectConnection, keepDirectConnection } from './direct.ts'

/** A notification about new work that other processes can do. */
export type Notification =
  | { kind: 'collection'; blockchain: string }
  | { kind: 'nfts'; collection: string; files: boolean; mint: boolean }
  | { kind: 'transfer' }

export interface Bus {
  /** Notifies the other processes soon, grouped with other notifications. A lost notification only delays work. */
  notify(notification: Notification): void
  close(): Promise<void>
}

const CHANNEL = 'gdn'
/**
 * Time in milliseconds during which notifications are collected into one message. Concurrent senders wait for each
 * other in PostgreSQL, so fewer messages are faster.
 */
const BATCH_WINDOW_MS = 5
/** Maximum number of notifications in a message. PostgreSQL limits a message to 8,000 bytes. */
const MAX_NOTIFICATIONS_PER_MESSAGE = 40

export interface BusOptions {
  store: Store
  /** Called for notifications of other processes. If omitted, no notifications are received. */
  onNotification?: ((notification: Notification) => void) | undefined
}

/**
 * Opens a bus that wakes the processes of a database with LISTEN on a dedicated connection and NOTIFY on any
 * connection. A transaction pooler can't deliver notifications. Without a direct connection, workers find new work by
 * polling the database every 2 s.
 */
export function openBus({ store, onNotification }: BusOptions): Bus {
  const { postgres, db } = store
  if (postgres === null) throw new Error('only a PostgreSQL database can have several processes')
  const self = randomUUID()
  const queued = new Set<string>()
  let gathering: NodeJS.Timeout | undefined

  const flush = () => {
    gathering = undefined
    const notifications = [...queued]
    queued.clear()
    for (const chunk of chunksOf(notifications, MAX_NOTIFICATIONS_PER_MESSAGE)) {
      const message = `{"from":"${self}","words":[${chunk.join(',')}]}`
      sql`select pg_notify(${CHANNEL}, ${message})`.execute(db).catch(() => {})
    }
  }

  let listening: DirectConnection | null = null
  if (onNotification !== undefined) {
    listening = keepDirectConnection({
      config: postgres.directConfig,
      async prepare(client) {
        client.on('notification', ({ payload = '' }) => {
          for (const notification of readNotifications(payload, self)) onNotification(notification)
        })
        await client.query(`listen ${CHANNEL}`)
        return true
      },
      onLost: () => {},
    })
  }

  return {
    notify(notification) {
      queued.add(toWire(notification))
      gathering ??= setTimeout(flush, BATCH_WINDOW_MS)
    },
    async close() {
      clearTimeout(gathering)
      await listening?.close()
    },
  }
}

/**
 * Returns the valid notifications in a message from another process. Any client with write access to the database can
 * send messages.
 */
function readNotifications(payload: string, self: string): readonly Notification[] {
  try {
    const { from, words } = JSON.parse(payload) as { from?: unknown; words?: unknown }
    return from === self || !Array.isArray(words) ? [] : words.map(fromWire).filter(isNotification)
  } catch {
    return []
  }
}

/** Returns a notification as JSON. Its `kind` is sent as `what`, because other versions of gdn expect that name. */
const toWire = ({ kind, ...fields }: Notification): string => JSON.stringify({ what: kind, ...fields })

function fromWire(word: unknown): unknown {
  if (word === null || typeof word !== 'object' || !('what' in word)) return null
  const { what, ...fields } = word
  return { ...fields, kind: what }
}

function isNotification(value: unknown): value is Notification {
  if (value === null || typeof value !== 'object' || !('kind' in value)) return false
  if (value.kind === 'transfer') return true
  if (value.kind === 'collection') return 'blockchain' in value && typeof value.blockchain === 'string'
  return value.kind === 'nfts' && 'collection' in value && typeof value.collection === 'string'
}
