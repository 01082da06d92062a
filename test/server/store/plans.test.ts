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
import { freshDataDir, withStore } from '../../helpers/backend.ts'
import { fillTables } from '../../helpers/fill-tables.ts'
import { rowsRead } from '../../helpers/postgres-plans.ts'
import { readTables, unboundedSteps } from '../../helpers/sqlite-plans.ts'
import { databaseUrlOf, isOnPostgres, openTestStore } from '../../helpers/test-database.ts'
import { useEverything } from '../../helpers/use-everything.ts'

// No request and no step of the pipeline may read all NFTs, or all of an account, a collection or an owner. gdn is used
// from end to end, each statement that it ran is recorded, and its plan is checked: a new query is among them without
// anybody adding it.

/** The connection that was opened last. */
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

/** Tables that don't grow with NFTs. What grows with them is every other one. */
const SMALL = [
  // One row, or as many as there are blockchains, signers, names or migrations.
  ...['backend', 'chains', 'signer_nonces', 'nft_term_cursor', 'secrets', 'kysely_migration', 'kysely_migration_lock'],
  ...['accounts', 'api_keys', 'collections', 'rate_windows', 'runs', 'unknown_mints', 'webhooks'],
  // A row for 4,096 NFTs.
  'nft_counts',
  // What is old is removed.
  ...['owner_cursors', 'used_signed_urls'],
]

/** Functions that only an operator's commands use, or a start after files were moved: these may read it all. */
const OF_OPERATORS = [
  ...['store/stored-files.countFilesIn', 'store/stored-files.movePlace', 'store/webhooks.removeWebhook'],
  ...['countDeliveries', 'listDeliveries', 'replay'].map((name) => `store/webhook-deliveries.${name}`),
]

/** Statements that read as many rows as they return or count, or fewer than their plan says. */
const WHOLE = [
  // getnftgdnids lists a collection.
  /^select id from nfts where collection_id = \? order by seq$/,
  // The web explorer counts the NFTs of an owner, in the index alone, and doesn't wait for it.
  /select count\(\*\) (as count )?from nfts where .*owner = \?/,
  // It counts different owners by so many entries of the index at a time, without waiting for it.
  /^select count\(distinct owner\) .* limit 20000 \)/,
  // It adds up the gas of a collection's transactions, in the index alone, without waiting for it.
  /^select sum\(gas\) as gas from/,
  // It goes on through what failed, or was accepted with a run, up to a page; a bucket has at most 4,096 NFTs.
  / nfts\.seq < \? and (nfts\.status = 'failed'|exists \(select 1 from requests) /,
  /^select nfts\.seq, nfts\.id, nfts\.error from nfts .* nfts\.status = 'failed' and requests\.run = \?/,
  // A reorg takes back the events of its blocks.
  /^delete from owner_events where blockchain = \? and block_number > \? returning/,
  // Where the chain has tokens that the database doesn't know, it looks for the last that it knows.
  /^select start_id, token_count from transactions where collection_id = \? and start_id is not null/,
  // Metadata files that a restored database lacks are made again, also of NFTs that failed.
  / from transactions cross join nfts .* and nfts\.status = 'failed' and nfts\.token_id is null$/,
  // Events that still wait for a webhook are skipped.
  /^select id from webhook_events where created_at < \? and not exists .* limit \?$/,
  // SQLite looks for transfers of a new NFT only where a foreign key is violated already.
  /^insert into nfts /,
]

/**
 * Statements that PostgreSQL plans badly without statistics, or with those of a few rows: gdn renews these every ten
 * seconds.
 */
const NEED_STATISTICS = [
  // Pages of the web explorer.
  / nfts\.seq\) < \(\?, \?\) and exists \(select 1 from requests /,
  /^select nfts\.seq, .* from \(select seq from nfts where \(collection_id, owner, seq\)/,
  /^select page\.transaction_id as id, count\(\*\) as count from/,
  // Metrics, and the removal of what waits for listeners that are gone.
  /^delete from webhook_deliveries where state = 'waiting' and webhook_id not in/,
  /^select count\(\*\) as count from webhook_deliveries where state = 'waiting'$/,
  // Once at the start.
  /^update publications set lease_until = /,
  /^select number, timestamp, transactions(, hash)? from chain_blocks/,
]

const SOME = { after: 0, deployed: 2000, waiting: 100, finished: 1500 }
const MANY = { after: 100_000, deployed: 40_000, waiting: 300, finished: 20_000 }

/** A page of a run looks at as many NFTs as are counted together: 4,096. */
const MOST_READ = 5000

let folder: Awaited<ReturnType<typeof freshDataDir>>
let store: Store
let statements: Statement[]
/** Functions of the store's modules that ran, as `module.function`. */
let ran: Set<string>

beforeAll(async () => {
  folder = await freshDataDir()
  const stop = recordPostgres()
  // The migrations may read what they like.
  await withStore(folder.path, async () => {})
  asked.clear()
  ran = await functionsRun(() => useEverything(folder.path))
  statements = [...asked.values()].filter(({ sql }) => /^\s*(select|with|insert|update|delete)\b/i.test(sql))
  stop()
  store = await openTestStore(folder.path)
})
afterAll(async () => {
  await store?.close()
  await folder?.remove()
})

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

it('every function of a module that reads what grows with NFTs ran', async () => {
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
    : // SQLite has no clock that processes share.
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
  // A connection that has read them keeps them.
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
    const another = openSqlite(join(folder.path, 'gdn.db'))
    // What a connection takes statistics for that were removed depends on those that it had.
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
    // What was written is counted a moment later.
    await vi.waitUntil(async () => (await renewPostgresStatistics(store.db)).includes('nfts'), { timeout: 10_000 })
    await vi.waitUntil(async () => (await renewPostgresStatistics(store.db)).length === 0, { timeout: 10_000 })
  }
  // Its autovacuum would analyze at some time of the test.
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
    const client = new pg.Client({ connectionString: await databaseUrlOf(folder.path) })
    await client.connect()
    const scans: object[] = []
    for (const statement of statements) {
      if (isAmong(allowed, statement)) continue
      const read = await rowsRead(client, await growing(), statement)
      if (read > MOST_READ) scans.push({ sql: statement.sql, read })
    }
    await client.end()
    expect(scans).toEqual([])
  })
})
