/** @module-tag slow */
import { readdir, readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { basename, join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../../src/server/store/open-store.ts'
import { renewPostgresStatistics, renewSqliteStatistics } from '../../../src/server/store/statistics.ts'
import { openSqlite, type RawDatabase } from '../../../src/sqlite/driver.ts'
import { asked, recordPostgres, recordSqlite, type Statement } from '../../helpers/asked-statements.ts'
import { temporaryDataDir, withStore } from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { fillTables } from '../../helpers/fill-tables.ts'
import { rowsRead } from '../../helpers/postgres-plans.ts'
import { readTables, unboundedSteps } from '../../helpers/sqlite-plans.ts'
import { databaseUrlOf, isOnPostgres, openTestStore } from '../../helpers/test-database.ts'
import { useEverything } from '../../helpers/use-everything.ts'

// No request and no pipeline step may read all NFTs, or all of an account, a collection or an owner. The test uses
// gdn end to end, records each SQL statement, and checks its plan. New queries are included automatically.

/** The most recently opened connection. */
const opened = vi.hoisted((): { last?: RawDatabase } => ({}))

vi.mock('../../../src/sqlite/driver.ts', async (original) => {
  const actual = await original<typeof import('../../../src/sqlite/driver.ts')>()
  return {
    ...actual,
    openSqlite(path: string) {
      opened.last = actual.openSqlite(path)
      return recordSqlite(opened.last)
    },
  }
})

/** Tables that don't grow with NFTs. All others do. */
const SMALL = [
  // One row, or one for each blockchain, signer, name or migration.
  ...['backend', 'chains', 'signer_nonces', 'nft_term_cursor', 'secrets', 'kysely_migration', 'kysely_migration_lock'],
  ...['accounts', 'api_keys', 'collections', 'rate_windows', 'runs', 'unknown_mints', 'unknown_updates', 'webhooks'],
  // One row per 4,096 NFTs.
  'nft_counts',
  // Old rows are removed.
  ...['owner_cursors', 'used_signed_urls'],
]

/** Functions of operator commands and of a start after files were moved, which may read everything. */
const OF_OPERATORS = [
  ...['store/stored-files.countFilesIn', 'store/stored-files.movePlace', 'store/webhooks.removeWebhookRow'],
  ...['countDeliveries', 'listDeliveryRows', 'requeueDeliveries'].map((name) => `store/webhook-deliveries.${name}`),
  // `gdn collection restore` replaces blocks by their primary key.
  'store/block-table.repairBlocks',
  // Read at most 10,000 NFTs, while no signer can pay.
  'store/nfts.listWaitingMints',
  // Reads nothing.
  'store/transactions.combineActions',
]

/** Statements that read only the rows that they return or count, or fewer than their plan shows. */
const WHOLE = [
  // getnftgdnids lists a collection.
  /^select id from nfts where collection_id = \? order by seq$/,
  // It reads a page of the index of those without an alias.
  /^select named\.reference_id, named\.target_id, nfts\.status, nfts\.owner from .* limit \?$/,
  // The web explorer counts the NFTs of an owner, or the burned ones of a run, in the index, without waiting for it.
  /select count\(\*\) (as count )?from nfts (join requests on [^?]* )?where .*owner = \?/,
  // It counts distinct owners in pages of the index, without waiting for it.
  /^select count\(distinct nullif\(owner, \?\)\) .* limit 20000 \)/,
  // After the nonce of a pending transaction there are only other pending ones.
  /^select id from transactions where blockchain = \? and signer = \? and state = 'signed' and nonce > \? /,
  // It sums up the gas of a collection's transactions in the index, without waiting for it.
  /^select sum\(gas\) as gas from/,
  // It reads NFTs that failed or were accepted with a run, up to a page; a bucket has at most 4,096 NFTs.
  / nfts\.seq < \? and (nfts\.status = 'failed'|exists \(select 1 from requests) /,
  /^select nfts\.seq, nfts\.id, nfts\.error from nfts .* nfts\.status = 'failed' and requests\.run = \?/,
  // All requests of a run.
  /^select distinct changes\.transaction_id as id, /,
  // A reorg removes the events of its blocks.
  /^delete from owner_events where blockchain = \? and block_number > \? returning/,
  // If the chain has unknown tokens, this finds the last known one, and mints that count as lost.
  /^select start_id, token_count(, id, hash)? from transactions where collection_id = \? and start_id is not null/,
  // Metadata files missing in a restored database are created again, also those of failed NFTs.
  / from transactions cross join nfts .* and nfts\.status = 'failed' and nfts\.token_id is null$/,
  // Events that are pending for a webhook are skipped.
  /^select id from webhook_events where created_at < \? and not exists .* limit \?$/,
  // SQLite searches for transfers of a new NFT only if a foreign key is already violated.
  /^insert into nfts /,
]

/**
 * Statements that PostgreSQL plans badly without statistics or with those of a few rows. gdn renews these every ten
 * seconds.
 */
const NEED_STATISTICS = [
  // Pages of the web explorer.
  / nfts\.seq\) < \(\?, \?\) and exists \(select 1 from requests /,
  /^select nfts\.seq, .* from \(select seq from nfts where \(collection_id, owner, seq\)/,
  /^select page\.transaction_id as id, count\(\*\) as count from/,
  // The index of titles, for the explorer's search.
  /^select page\.seq, page\.files, page\.metadata, /,
  // The commitments of a collection.
  /^select updates\.metadata as provenance, /,
  // The history of an NFT.
  /^with requested as \(/,
  /^select number, timestamp from chain_blocks where/,
  // The watch for burned tokens on Solana.
  /^select seq, id, token_id, owner from nfts where collection_id = \? and seq > \? order by seq limit/,
  // A page of owners.
  /^select seq, status, token_id, owner, owner_block, /,
  // Metrics, and the removal of deliveries pending for removed listeners.
  /^delete from webhook_deliveries where state = 'waiting' and webhook_id not in/,
  /^select count\(\*\) as count from webhook_deliveries where state = 'waiting'$/,
  // Runs once at the start.
  /^update publications set lease_until = /,
  /^select number, timestamp, transactions(, hash)? from chain_blocks/,
]

const SOME = { after: 0, deployed: 2000, waiting: 100, finished: 1500 }
const MANY = { after: 100_000, deployed: 40_000, waiting: 300, finished: 20_000 }

/** A page of a run reads one group of counted NFTs: 4,096. */
const MAX_READ = 5000

let folder: string
let store: Store
let statements: Statement[]
/** The store's functions that ran, as `module.function`. */
let ran: Set<string>

beforeAll(async () => {
  folder = await temporaryDataDir(whenFileDone)
  const stop = recordPostgres()
  // Migrations may read everything.
  await withStore(folder, async () => {})
  asked.clear()
  ran = await functionsRun(() => useEverything(folder))
  statements = [...asked.values()].filter(({ sql }) => /^\s*(select|with|insert|update|delete)\b/i.test(sql))
  stop()
  store = await openTestStore(folder)
})
afterAll(() => store?.close())

async function functionsRun(work: () => Promise<void>): Promise<Set<string>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return new Set(
    result.flatMap(({ url, functions }) => {
      const module = /\/server\/((?:store|state)\/[\w-]+)\.ts/.exec(url)?.[1]
      return functions
        .filter(({ ranges }) => module !== undefined && (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName }) => `${module}.${functionName}`)
    }),
  )
}

function isAmong(allowed: readonly RegExp[], { sql }: Statement): boolean {
  const text = sql.replace(/"/g, '').replace(/\$\d+/g, '?').replace(/\s+/g, ' ').trim()
  return allowed.some((each) => each.test(text))
}

const growing = async () => {
  const tables = await store.db.introspection.getTables({ withInternalKyselyTables: true })
  return tables.map(({ name }) => name).filter((name) => !SMALL.includes(name))
}

it('runs every function of modules that read growing tables', async () => {
  const grows = new RegExp(`('|(from|join|update|into) )(${(await growing()).join('|')})\\b`)
  const exported: string[] = []
  for (const folder of ['store', 'state']) {
    const modules = new URL(`../../../src/server/${folder}/`, import.meta.url)
    for (const file of await readdir(modules)) {
      if (!file.endsWith('.ts') || !grows.test(await readFile(new URL(file, modules), 'utf8'))) continue
      const module: Record<string, unknown> = await import(new URL(file, modules).href)
      const names = Object.keys(module).filter((name) => typeof module[name] === 'function')
      exported.push(...names.map((name) => `${folder}/${basename(file, '.ts')}.${name}`))
    }
  }
  const ofTheOther = isOnPostgres()
    ? ['store/statistics.renewSqliteStatistics']
    : // SQLite has no clock that several processes share.
      ['store/statistics.renewPostgresStatistics', 'store/leases.renewLeases']
  const unused = [...OF_OPERATORS, ...ofTheOther]
  expect(exported.length).toBeGreaterThan(50)
  expect(exported.filter((name) => !ran.has(name)).sort()).toEqual(unused.sort())
})

describe.skipIf(isOnPostgres())('SQLite', () => {
  let own: RawDatabase
  beforeAll(() => {
    if (opened.last === undefined) throw new Error('no database is open')
    own = opened.last
  })
  const analyze = () => sql`analyze`.execute(store.db)
  const renew = () => renewSqliteStatistics(store.db, 'analyze')
  // A connection that has read the statistics keeps them.
  const forget = () => sql`delete from sqlite_stat1`.execute(store.db)

  it.each([
    ['a few rows without statistics', async () => {}],
    ['a few rows after their statistics were removed', () => analyze().then(renew)],
    ['some rows without statistics', () => fillTables(store, SOME)],
    ['some rows with statistics', renew],
    ['many rows with statistics of some', () => fillTables(store, MANY)],
    ['many rows with statistics', renew],
    ['many rows without statistics', forget],
  ])('reads no more rows than needed: %s', async (_, prepare) => {
    await prepare()
    const another = openSqlite(join(folder, 'gdn.db'))
    // What a connection assumes after statistics were removed depends on those that it had.
    const connections = { own, another }
    const scans = []
    for (const [connection, raw] of Object.entries(connections)) {
      const tables = readTables(raw, await growing())
      for (const statement of statements) {
        const steps = isAmong(WHOLE, statement) ? [] : unboundedSteps(raw, tables, statement)
        if (steps.length > 0) scans.push({ connection, sql: statement.sql, steps })
      }
    }
    another.close()
    expect(scans).toEqual([])
  })
})

describe.runIf(isOnPostgres())('PostgreSQL', () => {
  const analyze = () => sql`analyze`.execute(store.db)
  const forget = async () => {
    await sql`delete from pg_statistic where starelid >= 16384`.execute(store.db)
    await sql`update pg_class set reltuples = -1, relpages = 0 where oid >= 16384 and relkind in ('r', 'i')`.execute(
      store.db,
    )
  }
  const renew = async () => {
    const large = await largeTables()
    const analyzed = sql<{ name: string }>`
      select relname as name from pg_class where relkind = 'r' and reltuples >= 0
        and relnamespace = any(select oid from pg_namespace where nspname = any(current_schemas(false)))`
    // Each connection reports what it wrote a moment later.
    await vi.waitUntil(
      async () => {
        await renewPostgresStatistics(store.db)
        const names = new Set((await analyzed.execute(store.db)).rows.map(({ name }) => name))
        return large.every((table) => names.has(table))
      },
      { timeout: 60_000 },
    )
  }
  /** The tables of more than 2,000 rows, whose statistics gdn renews. */
  const largeTables = async () => {
    const counts = await Promise.all(
      (await growing()).map(async (name) => {
        const { rows } = await sql<{ count: string }>`select count(*) as count from ${sql.table(name)}`.execute(
          store.db,
        )
        return { name, count: Number(rows[0]?.count) }
      }),
    )
    return counts.filter(({ count }) => count > 2000).map(({ name }) => name)
  }
  // Autovacuum would analyze at some point during the test.
  beforeAll(async () => {
    for (const table of await growing()) {
      await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(store.db)
    }
  })
  afterAll(async () => {
    for (const table of await growing()) {
      await sql`alter table ${sql.table(table)} reset (autovacuum_enabled)`.execute(store.db)
    }
  })

  it.each([
    ['statistics of a few', () => analyze().then(() => fillTables(store, MANY)), [...WHOLE, ...NEED_STATISTICS]],
    ['no statistics', forget, [...WHOLE, ...NEED_STATISTICS]],
    ['the statistics that gdn renews', renew, WHOLE],
  ])('reads no more rows than needed: many rows with %s', async (_, prepare, allowed) => {
    await prepare()
    const client = new pg.Client({ connectionString: await databaseUrlOf(folder) })
    await client.connect()
    const scans: object[] = []
    for (const statement of statements) {
      if (isAmong(allowed, statement)) continue
      const rowCount = await rowsRead(client, await growing(), statement)
      if (rowCount > MAX_READ) scans.push({ sql: statement.sql, read: rowCount })
    }
    await client.end()
    expect(scans).toEqual([])
  })
})
