import { join } from 'node:path'
import pg from 'pg'
import { Secret } from '../../src/core/secret.ts'
import type { DatabasePlace } from '../../src/server/settings/database.ts'
import { openStore, type Store } from '../../src/server/store/open-store.ts'

/** By data dir, the database that stands in the place of its SQLite file. */
const taken = new Map<string, string>()

/** Whether the tests of this process run on PostgreSQL; else they run on SQLite. */
export const isOnPostgres = (): boolean => process.env.GDN_TEST_POSTGRES !== undefined

async function execute(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const urlOf = (database: string) => (process.env.GDN_TEST_POSTGRES ?? '').replace(/\/postgres\?/, `/${database}?`)

/**
 * The URL of the database of a data dir, the same each time, and empty at first; undefined where the tests run on SQLite.
 * Making a database takes a second, so those of earlier tests and files are emptied and used again.
 */
export async function databaseUrlOf(dataDir: string): Promise<string | undefined> {
  if (!isOnPostgres()) return undefined
  const known = taken.get(dataDir)
  if (known !== undefined) return urlOf(known)
  const inUse = new Set(taken.values())
  let number = 0
  const name = () => `gdn_${process.env.VITEST_POOL_ID ?? '0'}_${number}`
  while (inUse.has(name())) number++
  const database = name()
  taken.set(dataDir, database)
  await execute(urlOf('postgres'), `create database ${database}`).catch((error) => {
    if (error.code !== '42P04') throw error
  })
  await execute(
    urlOf('postgres'),
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
  )
  await execute(
    urlOf(database),
    `do $$ begin
      if to_regclass('accounts') is not null then
        execute (select 'truncate ' || string_agg(quote_ident(tablename), ', ') || ' restart identity cascade'
          from pg_tables where schemaname = 'public' and tablename not like 'kysely%');
      end if;
    end $$`,
  )
  return urlOf(database)
}

/** Another test may have the database of a data dir that is gone. */
export function forgetDatabaseOf(dataDir: string): void {
  taken.delete(dataDir)
}

/** Opens the database of a data dir: the one that the tests of this run are for. */
export async function openTestStore(dataDir: string): Promise<Store> {
  const url = await databaseUrlOf(dataDir)
  if (url === undefined) return await openStore(join(dataDir, 'gdn.db'))
  const { openPostgres } = await import('../../src/server/store/postgres/open-postgres.ts')
  return await openPostgres({ url: new Secret(url) })
}

/** How administration is told of the database of a data dir. */
export async function placeOf(dataDir: string): Promise<DatabasePlace> {
  const url = await databaseUrlOf(dataDir)
  return url === undefined ? { dataDir } : { dataDir, database: { url: new Secret(url) } }
}
