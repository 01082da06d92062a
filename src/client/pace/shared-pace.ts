import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { getuid, platform } from 'node:process'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { bootId, isAlive, ownIdentity, pidNamespace } from '../../core/process-identity.ts'
import type { Secret } from '../../core/secret.ts'
import { bootClock, sleep } from '../../core/time.ts'
import type { SharedDatabase, Sql } from '../../sqlite/shared-database.ts'
import { isIdle } from './limiter-state.ts'
import { type LimiterEnvironment, type SharedPace, StoredLimiter } from './shared-limiter.ts'

const MAX_IDLE_LIMITERS = 64
const IDLE_MS = 3_600_000

export interface SharedPaceOptions {
  /**
   * Candidate folders for the database. The database is in the first folder that is usable and belongs to this user.
   */
  folders: readonly string[]
  origin: string
  apiKey: Secret | null
  /** Called once if limiters can't be shared. */
  onTrouble?(error: unknown): void
}

/**
 * Creates rate limiters that all gdn processes of this user share on this machine. Each combination of origin, key and
 * endpoint has a limiter, which takes a few hundred bytes in one database. The database contains only hashes of keys.
 * Without SQLite, each process limits only its own requests.
 */
export function createSharedPace({
  folders,
  origin,
  apiKey,
  onTrouble,
}: SharedPaceOptions): SharedPace & { close(): Promise<void> } {
  let environment: ReturnType<typeof openEnvironment> | undefined
  let isReported = false
  return {
    async limiter(endpoint, rate, observed) {
      environment ??= openEnvironment(folders)
      const { limiters, ...common } = await environment
      const name = limiterName(origin, apiKey, endpoint)
      return new StoredLimiter(
        { ...common, update: (change, signal) => limiters.update(name, change, signal) },
        rate,
        observed,
      )
    },
    trouble(error) {
      if (!isReported) onTrouble?.(error)
      isReported = true
    },
    async close() {
      const opened = await environment?.catch(() => null)
      opened?.limiters.close()
    },
  }
}

/** Returns the name of a limiter: half of a SHA-256 hash of its origin, key and endpoint. */
function limiterName(origin: string, apiKey: Secret | null, endpoint: string): string {
  const hash = createHash('sha256').update(JSON.stringify(['gdn pace', origin, apiKey?.reveal() ?? null, endpoint]))
  return hash.digest('hex').slice(0, 32)
}

async function openEnvironment(
  folders: readonly string[],
): Promise<Omit<LimiterEnvironment, 'update'> & { limiters: Limiters }> {
  const [boot, space, { pid, startedAt }] = await Promise.all([bootId(), pidNamespace(), ownIdentity()])
  // Load SQLite in advance, so that later changes can be made synchronously, even when the process is about to exit.
  const sqlite = await import('../../sqlite/shared-database.ts')
  const path = join(usableFolder(folders), 'pace.db')
  return {
    limiters: new Limiters(() => openLimiters(sqlite, path), boot),
    now: bootClock,
    sleep,
    boot,
    owner: { pid, startedAt, space },
    async findEndedTickets(tickets) {
      const local = tickets.filter((ticket) => ticket.space === space)
      const alive = await Promise.all(local.map((ticket) => isAlive({ ...ticket, bootId: boot })))
      return new Set(local.filter((_, index) => alive[index] === false).map(({ id }) => id))
    },
  }
}

function usableFolder(folders: readonly string[]): string {
  let problem: unknown
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      checkOwner(folder)
      return folder
    } catch (error) {
      problem = error
    }
  }
  throw problem
}

/**
 * Throws if a folder belongs to another user, and restricts its mode if others can write to it. Otherwise, other users
 * could delay requests or make gdn exceed the limit.
 */
function checkOwner(folder: string): void {
  const stats = lstatSync(folder)
  if (!stats.isDirectory()) throw new Error(`${folder} is not a directory`)
  if (platform === 'win32') return
  if (stats.uid !== getuid?.()) throw new Error(`${folder} belongs to another user`)
  if ((stats.mode & 0o022) !== 0) chmodSync(folder, 0o700)
}

/**
 * The stored limiters. The database is opened for the first change, so it is never opened if the server has no limit.
 */
class Limiters {
  readonly #open: () => SharedDatabase
  readonly #boot: string | null
  #db: SharedDatabase | null = null

  constructor(open: () => SharedDatabase, boot: string | null) {
    this.#open = open
    this.#boot = boot
  }

  async update<Result>(
    name: string,
    change: (text: string | null) => { keep: string | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result> {
    const isFirst = this.#db === null
    this.#db ??= this.#open()
    return await this.#db.write((sql) => {
      if (isFirst)
        sql.script('CREATE TABLE IF NOT EXISTS limiters (name TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID')
      const state = sql.get<LimiterRow>('SELECT * FROM limiters WHERE name = ?', name)?.state ?? null
      const { keep, result } = change(state)
      if (keep !== null) {
        sql.run('INSERT INTO limiters VALUES (?, ?) ON CONFLICT DO UPDATE SET state = excluded.state', name, keep)
        if (state === null) removeIdle(sql, this.#boot)
      }
      return result
    }, signal)
  }

  /** Closes the database until the next change. */
  close(): void {
    this.#db?.close()
    this.#db = null
  }
}

interface LimiterRow {
  name: string
  state: string
}

/**
 * SQLite doesn't sync the database, because the content is useless after a reboot. The rollback journal handles killed
 * processes.
 */
const PRAGMAS = ['journal_mode = DELETE', 'synchronous = OFF']

function openLimiters({ SharedDatabase: Shared }: typeof import('../../sqlite/shared-database.ts'), path: string) {
  ensurePrivateFile(path)
  return new Shared({ path, pragmas: PRAGMAS })
}

/** If there are many limiters, removes those from earlier boots and those that haven't been used for an hour. */
function removeIdle(sql: Sql, boot: string | null): void {
  const limiters = sql.all<LimiterRow>('SELECT * FROM limiters')
  if (limiters.length <= MAX_IDLE_LIMITERS) return
  for (const { name, state } of limiters) {
    if (isIdle(state, boot, bootClock(), IDLE_MS)) sql.run('DELETE FROM limiters WHERE name = ?', name)
  }
}
