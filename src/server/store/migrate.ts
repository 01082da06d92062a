import { type Kysely, Migrator, sql } from 'kysely'
import { GdnError } from '../../core/errors.ts'
import { isPostgres, lockUntilCommit } from './dialect.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Db, Schema } from './schema.ts'

interface MigrateOptions {
  /** The database's name in messages. */
  name: string
  /** For administration beside running processes: doesn't migrate, and rejects an older schema. */
  beside: boolean
  /** For inspection: doesn't migrate, and accepts an older schema. */
  unchecked: boolean
  /** Returns a database for work that may take long; the given one by default. */
  patiently?: (work: (db: Kysely<Schema>) => Promise<void>) => Promise<void>
}

/** Returns names of the migrations that were applied to this database; none if it is new. */
export async function appliedMigrations(db: Db): Promise<string[]> {
  const found = isPostgres(db)
    ? await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'`.execute(db)
  if (found.rows.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map((row) => row.name)
}

/** Returns names of migrations of this version that a database lacks. */
export const pendingMigrations = (applied: readonly string[]): string[] =>
  Object.keys(MIGRATIONS).filter((name) => !applied.includes(name))

/** Returns names of applied migrations that this version doesn't know. */
export const unknownMigrations = (applied: readonly string[]): string[] =>
  applied.filter((name) => !Object.hasOwn(MIGRATIONS, name))

/** Returns the name of the schema that these migrations make: that of the last one. */
export const schemaOf = (migrations: readonly string[]): string => migrations.at(-1) ?? 'none'

/** The schema of this version. */
export const SCHEMA = schemaOf(Object.keys(MIGRATIONS))

/**
 * Rejects a database with migrations that this version doesn't know: migrations of a newer version of gdn, or the
 * initial one of another commit before the first release.
 *
 * @param name the database's name in messages
 * @throws GdnError `data_dir`
 */
export function refuseUnknownMigrations(db: Db, name: string, applied: readonly string[]): void {
  if (unknownMigrations(applied).length === 0) return
  const [initial = ''] = Object.keys(MIGRATIONS)
  const origin = applied.includes(initial) ? 'migrated by a newer' : 'created by another'
  const schemas = `it has schema ${schemaOf(applied)}, and this version has schema ${SCHEMA}`
  throw new GdnError('data_dir', `${name} was ${origin} version of gdn: ${schemas}`, {
    hint: isPostgres(db)
      ? 'Nothing was changed. Use that version of gdn, or another database.'
      : 'Nothing was changed. Use that version of gdn, or another directory with `--data-dir`. For the local backend, run `gdn local reset`, which deletes its data.',
  })
}

/**
 * Migrates a database to the newest schema.
 *
 * @throws GdnError `data_dir` as {@link refuseUnknownMigrations}, and beside running processes for an older schema
 */
export async function migrate(
  db: Kysely<Schema>,
  { name, beside, unchecked, patiently = (work) => work(db) }: MigrateOptions,
): Promise<void> {
  const applied = await appliedMigrations(db)
  refuseUnknownMigrations(db, name, applied)
  // The migrator reads every table first, which isn't needed for a database that is up to date.
  if (unchecked || pendingMigrations(applied).length === 0) return
  if (beside) {
    throw new GdnError('data_dir', `${name} has the schema of an older version of gdn`, {
      hint: isPostgres(db) ? 'Run `gdn db migrate`.' : 'Start its backend once with this version of gdn.',
    })
  }
  if (isPostgres(db)) return await patiently(migrateTogether)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/**
 * Runs all migrations in one transaction, under a lock that ends with it: of processes that start together one
 * migrates, and the others find it done. Kysely's migrator holds its lock beyond a transaction, which doesn't work with
 * pgbouncer. The table of migrations is the same.
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
