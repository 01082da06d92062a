import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { chunksOf } from '../../../core/chunks-of.ts'
import type { Store } from '../open-store.ts'
import { type Direct, keepDirect } from './direct.ts'

/** A notification that a process has written work that other processes can do. */
export type Word =
  | { what: 'collection'; blockchain: string }
  | { what: 'nfts'; collection: string; files: boolean; mint: boolean }
  | { what: 'transfer' }

export interface Bus {
  /** Notifies the other processes soon, grouped with other notifications. A lost notification only delays work. */
  tell(word: Word): void
  close(): Promise<void>
}

const CHANNEL = 'gdn'
/**
 * Time in milliseconds during which notifications are collected into one message. Concurrent senders wait for each
 * other in PostgreSQL, so fewer messages are faster.
 */
const GATHER_MS = 5
/** Maximum number of notifications in a message. PostgreSQL limits a message to 8,000 bytes. */
const WORDS_AT_ONCE = 40

export interface BusOptions {
  store: Store
  /** Called for notifications of other processes. If omitted, no notifications are received. */
  onWord?: ((word: Word) => void) | undefined
}

/**
 * Opens a bus that wakes the processes of a database with LISTEN on a dedicated connection and NOTIFY on any
 * connection. A transaction pooler can't deliver notifications. Without a direct connection, workers find new work by
 * polling the database every 2 s.
 */
export function openBus({ store, onWord }: BusOptions): Bus {
  const { postgres, db } = store
  if (postgres === null) throw new Error('only a PostgreSQL database can have several processes')
  const self = randomUUID()
  const waiting = new Set<string>()
  let gathering: NodeJS.Timeout | undefined

  const flush = () => {
    gathering = undefined
    const words = [...waiting]
    waiting.clear()
    for (const chunk of chunksOf(words, WORDS_AT_ONCE)) {
      const message = `{"from":"${self}","words":[${chunk.join(',')}]}`
      sql`select pg_notify(${CHANNEL}, ${message})`.execute(db).catch(() => {})
    }
  }

  let listening: Direct | null = null
  if (onWord !== undefined) {
    listening = keepDirect({
      config: postgres.direct,
      async open(client) {
        client.on('notification', ({ payload = '' }) => {
          for (const word of readWords(payload, self)) onWord(word)
        })
        await client.query(`listen ${CHANNEL}`)
        return true
      },
      onLost: () => {},
    })
  }

  return {
    tell(word) {
      waiting.add(JSON.stringify(word))
      gathering ??= setTimeout(flush, GATHER_MS)
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
function readWords(payload: string, self: string): readonly Word[] {
  try {
    const { from, words } = JSON.parse(payload) as { from?: unknown; words?: unknown }
    return from === self || !Array.isArray(words) ? [] : words.filter(isWord)
  } catch {
    return []
  }
}

function isWord(word: unknown): word is Word {
  if (word === null || typeof word !== 'object' || !('what' in word)) return false
  if (word.what === 'transfer') return true
  if (word.what === 'collection') return 'blockchain' in word && typeof word.blockchain === 'string'
  return word.what === 'nfts' && 'collection' in word && typeof word.collection === 'string'
}
