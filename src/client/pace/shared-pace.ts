import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { getuid, platform } from 'node:process'
import { bootClock } from '../../core/boot-clock.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { bootId, isAlive, ownIdentity, pidNamespace } from '../../core/process-identity.ts'
import type { Secret } from '../../core/secret.ts'
import { sleep } from '../../core/time.ts'
import type { SharedDatabase, Sql } from '../../sqlite/shared-database.ts'
import type { SharedPace } from '../pacer.ts'
import { isIdle } from './lane-state.ts'
import { createSharedLane, type LaneWorld } from './shared-lane.ts'

const MANY_LANES = 64
const IDLE_MS = 3_600_000

export interface SharedPaceOptions {
  /** Where to keep it: the first of these folders that can be used and is nobody else's. */
  folders: readonly string[]
  origin: string
  apiKey: Secret | null
  /** Told once why the pace can't be shared. */
  onTrouble?(error: unknown): void
}

/**
 * The pace that all gdn processes of this user on this machine keep together, per origin, key and endpoint: a few hundred
 * bytes each in one database. The key is there only as part of a hash. Without SQLite each process keeps its own pace.
 */
export function createSharedPace({ folders, origin, apiKey, onTrouble }: SharedPaceOptions): SharedPace {
  let world: ReturnType<typeof openWorld> | undefined
  let told = false
  return {
    async lane(endpoint, rate, observed) {
      world ??= openWorld(folders)
      const { lanes, ...common } = await world
      const name = laneName(origin, apiKey, endpoint)
      return createSharedLane(
        { ...common, update: (change, signal) => lanes.update(name, change, signal) },
        rate,
        observed,
      )
    },
    trouble(error) {
      if (!told) onTrouble?.(error)
      told = true
    },
  }
}

/** Half of a hash: enough to tell lanes apart. */
function laneName(origin: string, apiKey: Secret | null, endpoint: string): string {
  const hash = createHash('sha256').update(JSON.stringify(['gdn pace', origin, apiKey?.reveal() ?? null, endpoint]))
  return hash.digest('hex').slice(0, 32)
}

async function openWorld(folders: readonly string[]): Promise<Omit<LaneWorld, 'update'> & { lanes: Lanes }> {
  const [boot, space, { pid, startedAt }] = await Promise.all([bootId(), pidNamespace(), ownIdentity()])
  // Loaded before it is needed, so that a change can be made at once, also when the process is about to end.
  const sqlite = await import('../../sqlite/shared-database.ts')
  const path = join(usableFolder(folders), 'pace.db')
  return {
    lanes: new Lanes(() => openLanes(sqlite, path), boot),
    now: bootClock,
    sleep,
    boot,
    owner: { pid, startedAt, space },
    async ended(tickets) {
      const known = tickets.filter((ticket) => ticket.space === space)
      const alive = await Promise.all(known.map((ticket) => isAlive({ ...ticket, bootId: boot })))
      return new Set(known.filter((_, index) => alive[index] === false).map(({ id }) => id))
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

/** In a folder that others may write to, they could hold up our requests, or let too many go. */
function checkOwner(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory()) throw new Error(`${folder} is no folder`)
  if (platform === 'win32') return
  if (found.uid !== getuid?.()) throw new Error(`${folder} belongs to somebody else`)
  if ((found.mode & 0o022) !== 0) chmodSync(folder, 0o700)
}

/** The first file access is made by the first change: where the server has no limit there is none. */
class Lanes {
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
        sql.script('CREATE TABLE IF NOT EXISTS lanes (name TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID')
      const { keep, result } = change(sql.get<LaneRow>('SELECT * FROM lanes WHERE name = ?', name)?.state ?? null)
      if (keep !== null) {
        sql.run('INSERT INTO lanes VALUES (?, ?) ON CONFLICT DO UPDATE SET state = excluded.state', name, keep)
      }
      if (isFirst) sweepLanes(sql, this.#boot)
      return result
    }, signal)
  }
}

interface LaneRow {
  name: string
  state: string
}

/** Nothing of it matters after the next boot, so nothing is synced. A killed process leaves a journal, which is rolled back. */
const PRAGMAS = ['journal_mode = DELETE', 'synchronous = OFF']

function openLanes({ SharedDatabase: Shared }: typeof import('../../sqlite/shared-database.ts'), path: string) {
  ensurePrivateFile(path)
  return new Shared({ path, pragmas: PRAGMAS })
}

/** Removes lanes of earlier boots, and those that nobody used for an hour, when there are many. */
function sweepLanes(sql: Sql, boot: string | null): void {
  const lanes = sql.all<LaneRow>('SELECT * FROM lanes')
  if (lanes.length <= MANY_LANES) return
  for (const { name, state } of lanes) {
    if (isIdle(state, boot, bootClock(), IDLE_MS)) sql.run('DELETE FROM lanes WHERE name = ?', name)
  }
}
