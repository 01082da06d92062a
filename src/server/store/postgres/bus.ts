import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Store } from '../open-store.ts'
import { type Direct, keepDirect } from './direct.ts'

/** Something that a process has written for the others to work on. */
export type Word =
  | { what: 'collection'; blockchain: string }
  | { what: 'nfts'; collection: string; files: boolean; mint: boolean }
  | { what: 'transfer' }

export interface Bus {
  /** Tells the other processes, soon and together with what else there is to tell. One that is lost only costs time. */
  tell(word: Word): void
  close(): Promise<void>
}

const CHANNEL = 'gdn'
/** Words that come within this time share a message: PostgreSQL lets those who send wait for each other. */
const GATHER_MS = 5
/** A message takes 8,000 bytes. */
const WORDS_AT_ONCE = 40

export interface BusOptions {
  store: Store
  /** Another process has told this; nothing is heard where it isn't given. */
  onWord?: ((word: Word) => void) | undefined
}

/**
 * How processes that share a database wake each other: LISTEN on a connection of its own, NOTIFY on any. Behind a pooler
 * that gives connections away between transactions nothing is heard without the server's own address, and work is found
 * by looking for it every two seconds.
 */
export function openBus({ store, onWord }: BusOptions): Bus {
  const { postgres, db } = store
  if (postgres === null) throw new Error('nobody else has this database')
  const self = randomUUID()
  const waiting = new Set<string>()
  let gathering: NodeJS.Timeout | undefined

  const flush = () => {
    gathering = undefined
    const words = [...waiting]
    waiting.clear()
    for (let at = 0; at < words.length; at += WORDS_AT_ONCE) {
      const message = `{"from":"${self}","words":[${words.slice(at, at + WORDS_AT_ONCE).join(',')}]}`
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

/** Whoever may write to the database may send anything. */
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
