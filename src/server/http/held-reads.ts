import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isFinal } from '../../api/nft-status.ts'
import { changeMarker } from '../store/change-marker.ts'
import { isPostgres } from '../store/dialect.ts'
import type { Db } from '../store/schema.ts'

/** Longest time in seconds for which a response is held. */
const MAX_WAIT_S = 10
/** Maximum number of held responses per account, and in total. Beyond these limits, responses are sent immediately. */
const MAX_HELD = { perAccount: 50, total: 200 }
/**
 * Interval in milliseconds between checks for changes. A check takes about 0.1 ms with SQLite, and a round trip with
 * PostgreSQL.
 */
const CHECK_INTERVAL_MS = { sqlite: 15, postgres: 100 }
/** After an account's lookups are read again, they pause for the duration of that read multiplied by this factor. */
const PAUSE_FACTOR = 10

interface WithStatus {
  status?: string | null
  pending_change?: unknown
}

/** The endpoints whose responses may be held, with the field of the response that contains the records. */
const RECORD_FIELDS: Readonly<Record<string, string>> = {
  getnfts: 'nfts',
  gettransactions: 'transactions',
  getcollections: 'collections',
}

const WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i

/** Returns the seconds in the header `Prefer: wait=<seconds>` (RFC 7240), at most 10; 0 if the header has none. */
function parseWaitSeconds(prefer: unknown): number {
  return Math.min(MAX_WAIT_S, Number(WAIT.exec(String(prefer))?.[1] ?? 0))
}

function isPending(name: string, response: unknown): boolean {
  const records = (response as Record<string, WithStatus[]>)[RECORD_FIELDS[name] ?? ''] ?? []
  return records.some(({ status, pending_change }) => !isFinal(status ?? '') || pending_change !== undefined)
}

/** A lookup whose response may be held. */
interface Lookup<Response> {
  name: string
  accountId: string
  /** The value of the request header `Prefer`. */
  prefer: unknown
  /** The raw response. When it closes, the lookup is no longer held. */
  raw: ServerResponse
  read(): Promise<Response>
}

interface HeldRead {
  accountId: string
  /** The change marker before the last read. */
  marker: string | null
  readAgain(): Promise<void>
  release(): void
}

export interface HeldReads {
  /**
   * Reads until no record is pending, the wait ends, the client disconnects, or the server stops. Returns the last
   * response. Without `Prefer: wait`, reads once.
   */
  read<Response>(lookup: Lookup<Response>): Promise<{ response: Response; heldMs: number }>
  /** Releases all held responses. Later responses aren't held. */
  end(): void
}

/**
 * Creates the reader that holds responses of lookups. One periodic check, shared by all held lookups, shows whether
 * any process has written to the database.
 */
export function createHeldReads(db: Db, { perAccount, total } = MAX_HELD): HeldReads {
  const heldLookups = new Set<HeldRead>()
  let ended = false
  let checking = false

  /** The accounts whose lookups are being read again or are paused after a read. */
  const resting = new Set<string>()

  const readAgain = async (accountId: string, marker: string) => {
    resting.add(accountId)
    const since = performance.now()
    for (const lookup of heldLookups) {
      if (lookup.accountId !== accountId || lookup.marker === marker) continue
      lookup.marker = marker
      await lookup.readAgain()
    }
    await delay((performance.now() - since) * PAUSE_FACTOR, undefined, { ref: false })
    resting.delete(accountId)
  }
  const checkWhileHeld = async () => {
    if (checking) return
    checking = true
    while (heldLookups.size > 0) {
      // If the database can't be read, the last read of each lookup reports the error.
      const marker = await changeMarker(db).catch(() => null)
      const stale = [...heldLookups].filter(
        (lookup) => marker !== null && lookup.marker !== marker && !resting.has(lookup.accountId),
      )
      // Read each account's records separately, so that accounts don't wait for each other.
      for (const accountId of new Set(stale.map((lookup) => lookup.accountId))) void readAgain(accountId, marker ?? '')
      await delay(isPostgres(db) ? CHECK_INTERVAL_MS.postgres : CHECK_INTERVAL_MS.sqlite)
    }
    checking = false
  }
  const hasPlace = (accountId: string) =>
    !ended &&
    heldLookups.size < total &&
    [...heldLookups].filter((lookup) => lookup.accountId === accountId).length < perAccount

  const hold = <Response>({ name, accountId, raw, read }: Lookup<Response>, first: Response, ms: number) =>
    new Promise<Response>((resolve, reject) => {
      let latest = first
      const lookup: HeldRead = {
        accountId,
        marker: null,
        async readAgain() {
          try {
            latest = await read()
            if (!isPending(name, latest)) lookup.release()
          } catch (error) {
            stopHolding()
            reject(error)
          }
        },
        release() {
          stopHolding()
          resolve(latest)
        },
      }
      // Read once more, because the reason for a delay may change without a write.
      const timer = setTimeout(() => lookup.readAgain().then(lookup.release), ms)
      const stopHolding = () => {
        heldLookups.delete(lookup)
        clearTimeout(timer)
        raw.off('close', lookup.release)
      }
      raw.once('close', lookup.release)
      heldLookups.add(lookup)
      void checkWhileHeld()
    })

  return {
    async read(lookup) {
      const first = await lookup.read()
      const ms = RECORD_FIELDS[lookup.name] === undefined ? 0 : parseWaitSeconds(lookup.prefer) * 1000
      const isHeld = ms > 0 && isPending(lookup.name, first) && !lookup.raw.destroyed && hasPlace(lookup.accountId)
      if (!isHeld) return { response: first, heldMs: 0 }
      const since = performance.now()
      return { response: await hold(lookup, first, ms), heldMs: performance.now() - since }
    },
    end() {
      ended = true
      for (const lookup of heldLookups) lookup.release()
    },
  }
}
