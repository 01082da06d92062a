import { type Kysely, Migrator, sql } from 'kysely'
import { GdnError } from '../../core/errors.ts'
import { isPostgres, lockUntilCommit } from './dialect.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Db, Schema } from './schema.ts'

interface MigrateOptions {
  /** The database's name in messages. */
  name: string
  /** For administration while other processes run. If set, an older schema is rejected instead of migrated. */
  requireCurrentSchema: boolean
  /** For inspection. If set, an older schema is accepted and not migrated. */
  unchecked: boolean
  /** Runs work that may take a long time, with a suitable database connection. Default: uses the given connection. */
  runWithoutTimeout?: (work: (db: Kysely<Schema>) => Promise<void>) => Promise<void>
}

/** Returns the names of the migrations that were applied to a database; empty if it is new. */
export async function appliedMigrations(db: Db): Promise<string[]> {
  const tables = isPostgres(db)
    ? await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'`.execute(db)
  if (tables.rows.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map((row) => row.name)
}

/** Returns the names of this version's migrations that a database lacks. */
export const pendingMigrations = (applied: readonly string[]): string[] =>
  Object.keys(MIGRATIONS).filter((name) => !applied.includes(name))

/** Returns the names of applied migrations that this version doesn't have. */
export const unknownMigrations = (applied: readonly string[]): string[] =>
  applied.filter((name) => !Object.hasOwn(MIGRATIONS, name))

/** Returns the name of the schema that these migrations create, which is the name of the last one. */
export const schemaName = (migrations: readonly string[]): string => migrations.at(-1) ?? 'none'

/** The schema of this version. */
export const CURRENT_SCHEMA = schemaName(Object.keys(MIGRATIONS))

/**
 * Rejects a database with migrations that this version doesn't have. Such migrations are from a newer version of gdn,
 * or are the initial migration of another commit before the first release.
 *
 * @param name the database's name in messages
 * @throws GdnError `data_dir`
 */
export function refuseUnknownMigrations(db: Db, name: string, applied: readonly string[]): void {
  if (unknownMigrations(applied).length === 0) return
  const [initial = ''] = Object.keys(MIGRATIONS)
  const origin = applied.includes(initial) ? 'migrated by a newer' : 'created by another'
  const schemas = `it has schema ${schemaName(applied)}, and this version has schema ${CURRENT_SCHEMA}`
  throw new GdnError('data_dir', `${name} was ${origin} version of gdn: ${schemas}`, {
    hint: isPostgres(db)
      ? 'Nothing was changed. Use that version of gdn, or another database.'
      : 'Nothing was changed. Use that version of gdn, or another directory with `--data-dir`. For the local backend, run `gdn local reset`, which deletes its data.',
  })
}

/**
 * Migrates a database to the newest schema.
 *
 * @throws GdnError `data_dir` for the same reasons as {@link refuseUnknownMigrations}, and with `requireCurrentSchema`
 *   for an older schema
 */
export async function migrateSchema(
  db: Kysely<Schema>,
  { name, requireCurrentSchema, unchecked, runWithoutTimeout = (work) => work(db) }: MigrateOptions,
): Promise<void> {
  const applied = await appliedMigrations(db)
  refuseUnknownMigrations(db, name, applied)
  // Skip the migrator for an up-to-date database, because it would first read every table.
  if (unchecked || pendingMigrations(applied).length === 0) return
  if (requireCurrentSchema) {
    throw new GdnError('data_dir', `${name} has the schema of an older version of gdn`, {
      hint: isPostgres(db) ? 'Run `gdn db migrate`.' : 'Start the backend once with this version of gdn.',
    })
  }
  if (isPostgres(db)) return await runWithoutTimeout(migrateTogether)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/**
 * Runs all migrations in one transaction, under a lock that ends with the transaction. If several processes start
 * together, one of them migrates, and the others find the migrations applied. Kysely's migrator isn't used, because it
 * holds its lock beyond a transaction, which doesn't work with PgBouncer. Only Kysely's migrations table is used.
 */
async function migrateTogether(db: Kysely<Schema>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await lockUntilCommit(transaction, 'migrations')
    await sql`create table if not exists kysely_migration (
      name varchar(255) primary key, timestamp varchar(255) not null)`.execute(transaction)
    for (const name of pendingMigrations(await appliedMigrations(transaction))) {
      await MIGRATIONS[name]?.up(transaction)
      await sql`insert into kysely_migration values (${name}, ${new Date().toISOString()})`.execute(transaction)
    }
  })
}
