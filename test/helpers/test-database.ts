import { join } from 'node:path'
import pg from 'pg'
import { Secret } from '../../src/core/secret.ts'
import type { DatabaseLocation } from '../../src/server/settings/database.ts'
import type { ChainOptions } from '../../src/server/setup/with-chain.ts'
import { openStore, type Store } from '../../src/server/store/open-store.ts'

/** Databases that replace the SQLite file, by data dir. */
const databaseOfName = new Map<string, string>()

/** Whether the tests of this process run on PostgreSQL instead of SQLite. */
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
 * Returns the URL of a data dir's database, or undefined on SQLite. The database is empty at first, and the same one
 * each time. Creating a database takes a second, so those of earlier tests and files are emptied and reused.
 */
export async function databaseUrlOf(dataDir: string): Promise<string | undefined> {
  if (!isOnPostgres()) return undefined
  const known = databaseOfName.get(dataDir)
  if (known !== undefined) return urlOf(known)
  const inUse = new Set(databaseOfName.values())
  let number = 0
  const name = () => `gdn_${process.env.VITEST_POOL_ID ?? '0'}_${number}`
  while (inUse.has(name())) number++
  const database = name()
  databaseOfName.set(dataDir, database)
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

/** Lets another test reuse the database of a removed data dir. */
export function forgetDatabaseOf(dataDir: string): void {
  databaseOfName.delete(dataDir)
}

/** Opens the database of a data dir on the backend under test. */
export async function openTestStore(dataDir: string): Promise<Store> {
  const url = await databaseUrlOf(dataDir)
  if (url === undefined) return await openStore(join(dataDir, 'gdn.db'))
  const { openPostgres } = await import('../../src/server/store/postgres/open-postgres.ts')
  return await openPostgres({ url: new Secret(url) })
}

/** The database of a data dir in the form that administration functions expect. */
export async function placeOf(dataDir: string): Promise<DatabaseLocation> {
  const url = await databaseUrlOf(dataDir)
  return url === undefined ? { dataDir } : { dataDir, database: { url: new Secret(url) } }
}

/** The same with a network in its configuration. */
export const chainPlaceOf = async (dataDir: string): Promise<ChainOptions> => ({
  ...(await placeOf(dataDir)),
  credentialsDirectory: undefined,
  signal: new AbortController().signal,
})
