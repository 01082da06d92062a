import { access, constants, statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { messageOf } from '../core/errors.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { shareInFlight } from '../core/share-in-flight.ts'
import type { Hindrance } from './chain/rpc/watch-network.ts'

import type { OpenedStorage } from './storage/open-storage.ts'
import { isPostgres } from './store/dialect.ts'
import { appliedMigrations, pendingMigrations, unknownMigrations } from './store/migrate.ts'
import type { Store } from './store/open-store.ts'
import { listUnknownMints } from './store/unknown-mints.ts'

/** How a process stands at this moment, a sentence for each thing that is in the way. */
export interface Condition {
  /** Nothing can be done; empty where it can. */
  problems: readonly string[]
  /** Some of the work waits, the rest goes on. */
  warnings: readonly string[]
}

export type Readiness = () => Promise<Condition>

/** A database that takes longer to say that it is there isn't ready. */
const ANSWER_WITHIN_MS = 2000
/** Less than what a database and a file under way need for themselves. */
const LEAST_FREE_BYTES = 32 * 1024 * 1024

interface Networks {
  readonly blockchains: readonly string[]
  unreachable(): Promise<readonly ({ blockchain: string } & Hindrance)[]>
}

export interface Watched {
  store: Store
  storage: Pick<OpenedStorage, 'problems'>
  /** Those by RPC URL. */
  networks: readonly Networks[]
  dataDir: string
}

export interface ReadinessOfProcess {
  ask: Readiness
  /** From now on the process isn't ready: it ends, and what balances load should turn away. */
  stopping(): void
}

/**
 * Whether work can be done: by what is seen of database, disk, storage and networks when it is asked. Of several networks
 * one that is away is told and no more: the others' work goes on, and a process taken out for it would stop that too. So
 * is one whose signers can't pay: what was minted can still be read, and no other process has the funds.
 */
export function watchReadiness({ store, storage, networks, dataDir }: Watched): ReadinessOfProcess {
  let isStopping = false
  const allUnreachable = async () => (await Promise.all(networks.map((some) => some.unreachable()))).flat()
  const all = networks.flatMap(({ blockchains }) => blockchains)
  // Anybody may ask, as often as he likes: it costs queries, and those of a database that is away queue up.
  const look = shareInFlight(async (): Promise<Condition> => {
    const [database, disk, unreachable] = await Promise.all([
      conditionOf(store),
      diskProblems(dataDir),
      allUnreachable(),
    ])
    const reasons = unreachable.map(({ blockchain, reason }) => `${blockchain}: ${reason}`)
    const noneLeft = all.length > 0 && unreachable.filter(({ silent }) => silent).length === all.length
    return {
      problems: [...database.problems, ...disk, ...storage.problems(), ...(noneLeft ? reasons : [])],
      warnings: [...database.warnings, ...(noneLeft ? [] : reasons)],
    }
  })
  return {
    stopping() {
      isStopping = true
    },

    async ask() {
      return isStopping ? { problems: ['this process is stopping'], warnings: [] } : await look()
    },
  }
}

async function conditionOf({ db }: Store): Promise<Condition> {
  const look = async (): Promise<Condition> => {
    const applied = await appliedMigrations(db)
    const pending = pendingMigrations(applied)
    const newer = unknownMigrations(applied)
    return {
      problems: [
        ...(pending.length === 0 ? [] : [`the database lacks migrations (${pending.join(', ')}): gdn db migrate`]),
        ...((await takesWrites(db)) ? [] : ['the database takes no writes: it is a standby, or set to read only']),
      ],
      warnings: [
        // While processes are replaced one by one, the first of the new ones migrates.
        ...(newer.length === 0 ? [] : [`the database is of a newer gdn (${newer.join(', ')})`]),
        ...(pending.length === 0 ? await heldCollections(db) : []),
      ],
    }
  }
  try {
    const late = delay(ANSWER_WITHIN_MS, null, { ref: false })
    const looked = await Promise.race([look(), late])
    if (looked !== null) return looked
    throw new Error('it gives no answer')
  } catch (error) {
    return { problems: [`the database can't be read: ${messageOf(error)}`], warnings: [] }
  }
}

/** Collections that mint no more until an operator releases them. */
async function heldCollections(db: Store['db']): Promise<string[]> {
  const tokens = new Map<string, number>()
  for (const { blockchain, contract_address, state, token_count } of await listUnknownMints(db)) {
    if (state !== 'unexplained') continue
    const name = `${blockchain}: ${contract_address}`
    tokens.set(name, (tokens.get(name) ?? 0) + token_count)
  }
  return [...tokens].map(
    ([name, count]) => `${name} has ${count} tokens that this backend does not know and mints no more: gdn tx unknown`,
  )
}

async function takesWrites(db: Store['db']): Promise<boolean> {
  if (!isPostgres(db)) return true
  const { rows } = await sql<{ only: string }>`select current_setting('transaction_read_only') as only`.execute(db)
  return rows[0]?.only !== 'on'
}

async function diskProblems(dataDir: string): Promise<string[]> {
  try {
    await access(dataDir, constants.W_OK)
    const { bavail, bsize } = await statfs(dataDir)
    const free = bavail * bsize
    return free >= LEAST_FREE_BYTES
      ? []
      : [`the disk of the data dir is full: ${formatBytes(Math.floor(free / 2 ** 20) * 2 ** 20)} are left`]
  } catch (error) {
    return [`the data dir can't be written: ${messageOf(error)}`]
  }
}
