import { access, constants, statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { messageOf } from '../core/errors.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { shareInFlight } from '../core/share-in-flight.ts'
import type { NetworkProblem } from './chain/rpc/watch-network.ts'

import type { OpenedStorage } from './storage/open-storage.ts'
import { isPostgres } from './store/dialect.ts'
import { appliedMigrations, pendingMigrations, unknownMigrations } from './store/migrate.ts'
import type { Store } from './store/open-store.ts'
import { listUnknownMints } from './store/unknown-mints.ts'

/** The readiness of a process. Each problem is one sentence. */
export interface Condition {
  /** Problems that prevent all work. Empty if the process is ready. */
  problems: readonly string[]
  /** Problems that delay some of the work. */
  warnings: readonly string[]
}

export type Readiness = () => Promise<Condition>

/** Maximum response time of the database in milliseconds. If it responds later, the process isn't ready. */
const RESPONSE_WITHIN_MS = 2000
/** Minimum free disk space in bytes. This is enough for changes to the database and a file upload in progress. */
const MIN_FREE_BYTES = 32 * 1024 * 1024

interface Networks {
  readonly blockchains: readonly string[]
  unreachable(): Promise<readonly ({ blockchain: string } & NetworkProblem)[]>
}

export interface ReadinessInputs {
  store: Store
  storage: Pick<OpenedStorage, 'problems'>
  /** Networks that are reached through RPC URLs. */
  networks: readonly Networks[]
  dataDir: string
}

export interface ProcessReadiness {
  check: Readiness
  /** Marks the process as not ready, because it will stop soon and load balancers should use other processes. */
  markStopping(): void
}

/**
 * Creates a readiness check of the database, the disk, the storage and the networks. With several networks, an
 * unreachable one is only a warning, because removing the process from service would also stop work on the others. A
 * signer without funds is also a warning, because reads still work and no other process has the funds.
 */
export function watchReadiness({ store, storage, networks, dataDir }: ReadinessInputs): ProcessReadiness {
  let isStopping = false
  const allUnreachable = async () => (await Promise.all(networks.map((group) => group.unreachable()))).flat()
  const all = networks.flatMap(({ blockchains }) => blockchains)
  // Concurrent requests share one check. Any client may send requests, each check runs queries, and queries queue up
  // while the database is unreachable.
  const check = shareInFlight(async (): Promise<Condition> => {
    const [database, disk, unreachable] = await Promise.all([
      checkDatabase(store),
      findDiskProblems(dataDir),
      allUnreachable(),
    ])
    const reasons = unreachable.map(({ blockchain, reason }) => `${blockchain}: ${reason}`)
    const areAllUnreachable = all.length > 0 && unreachable.filter(({ isSilent }) => isSilent).length === all.length
    return {
      problems: [...database.problems, ...disk, ...storage.problems(), ...(areAllUnreachable ? reasons : [])],
      warnings: [...database.warnings, ...(areAllUnreachable ? [] : reasons)],
    }
  })
  return {
    markStopping() {
      isStopping = true
    },

    async check() {
      return isStopping ? { problems: ['this process is stopping'], warnings: [] } : await check()
    },
  }
}

async function checkDatabase({ db }: Store): Promise<Condition> {
  const readCondition = async (): Promise<Condition> => {
    const applied = await appliedMigrations(db)
    const pending = pendingMigrations(applied)
    const newer = unknownMigrations(applied)
    return {
      problems: [
        ...(pending.length === 0 ? [] : [`the database lacks migrations (${pending.join(', ')}): run gdn db migrate`]),
        ...((await isWritable(db)) ? [] : ['the database rejects writes: it is a standby or read-only']),
      ],
      warnings: [
        // Only warn, because in a rolling update, the first process of the new version migrates the database.
        ...(newer.length === 0 ? [] : [`the database was migrated by a newer version of gdn (${newer.join(', ')})`]),
        ...(pending.length === 0 ? await describeHeldCollections(db) : []),
      ],
    }
  }
  try {
    const late = delay(RESPONSE_WITHIN_MS, null, { ref: false })
    const condition = await Promise.race([readCondition(), late])
    if (condition !== null) return condition
    throw new Error('it does not respond')
  } catch (error) {
    return { problems: [`the database can't be read: ${messageOf(error)}`], warnings: [] }
  }
}

/** Returns a warning for each collection whose mints are blocked until an operator releases it. */
async function describeHeldCollections(db: Store['db']): Promise<string[]> {
  const tokens = new Map<string, number>()
  for (const { blockchain, contract_address, state, token_count } of await listUnknownMints(db)) {
    if (state !== 'unexplained') continue
    const name = `${blockchain}: ${contract_address}`
    tokens.set(name, (tokens.get(name) ?? 0) + token_count)
  }
  return [...tokens].map(
    ([name, count]) => `mints of ${name} are blocked by ${count} unknown tokens: see gdn tx unknown`,
  )
}

async function isWritable(db: Store['db']): Promise<boolean> {
  if (!isPostgres(db)) return true
  const { rows } = await sql<{ only: string }>`select current_setting('transaction_read_only') as only`.execute(db)
  return rows[0]?.only !== 'on'
}

async function findDiskProblems(dataDir: string): Promise<string[]> {
  try {
    await access(dataDir, constants.W_OK)
    const { bavail, bsize } = await statfs(dataDir)
    const free = bavail * bsize
    return free >= MIN_FREE_BYTES
      ? []
      : [`the disk of the data directory is full: ${formatBytes(Math.floor(free / 2 ** 20) * 2 ** 20)} free`]
  } catch (error) {
    return [`the data directory is not writable: ${messageOf(error)}`]
  }
}
