import { type Kysely, Migrator, sql } from 'kysely'
import { GdnError } from '../../core/errors.ts'
import { isPostgres, lockUntilCommit } from './dialect.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Db, Schema } from './schema.ts'

interface MigrateOptions {
  /** How messages call the database. */
  name: string
  /** For administration beside running processes: the schema is left as it is, and an older one refused. */
  beside: boolean
  /** Gives work that may take its time a database to do it in; by default the one that is given. */
  patiently?: (work: (db: Kysely<Schema>) => Promise<void>) => Promise<void>
}

/** Names of the migrations that made this database; none where it is new. */
export async function appliedMigrations(db: Db): Promise<string[]> {
  const found = isPostgres(db)
    ? await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'`.execute(db)
  if (found.rows.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map((row) => row.name)
}

/** Names of the migrations that this version knows and a database lacks. */
export const pendingMigrations = (applied: readonly string[]): string[] =>
  Object.keys(MIGRATIONS).filter((name) => !applied.includes(name))

/** Names of the migrations that a database has had and this version doesn't know. */
export const unknownMigrations = (applied: readonly string[]): string[] =>
  applied.filter((name) => !Object.hasOwn(MIGRATIONS, name))

/**
 * Refuses a database with migrations that this version doesn't know.
 *
 * @param name how messages call the database
 * @throws GdnError `data_dir` for one of a newer gdn, or of a development version before the first release
 */
export function refuseUnknownMigrations(db: Db, name: string, applied: readonly string[]): void {
  const unknown = unknownMigrations(applied)
  if (unknown.length === 0) return
  // Every release has made its databases with the initial migration.
  const [initial = ''] = Object.keys(MIGRATIONS)
  if (!applied.includes(initial)) {
    throw new GdnError('data_dir', `${name} was made by a development version of gdn and can't be migrated`, {
      hint: isPostgres(db)
        ? 'Use a new, empty database.'
        : 'Choose a new folder with `--data-dir`. For the local backend, run `gdn local reset`.',
    })
  }
  throw new GdnError('data_dir', `${name} was made by a newer gdn (it knows ${unknown.join(', ')})`, {
    hint: isPostgres(db)
      ? 'Use that version of gdn, or another database.'
      : 'Use that version of gdn, or choose another folder with `--data-dir`.',
  })
}

/**
 * Brings a database to the newest schema.
 *
 * @throws GdnError `data_dir` as {@link refuseUnknownMigrations}, and beside running processes for one of an older gdn
 */
export async function migrate(
  db: Kysely<Schema>,
  { name, beside, patiently = (work) => work(db) }: MigrateOptions,
): Promise<void> {
  const applied = await appliedMigrations(db)
  refuseUnknownMigrations(db, name, applied)
  // The migrator looks at every table first, which a database that is up to date needn't wait for.
  if (pendingMigrations(applied).length === 0) return
  if (beside) {
    throw new GdnError('data_dir', `${name} was made by an older gdn and must be brought up to date first`, {
      hint: isPostgres(db) ? 'gdn db migrate does that' : 'start its backend once with this version of gdn',
    })
  }
  if (isPostgres(db)) return await patiently(migrateTogether)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/**
 * All in one transaction and under a lock that ends with it: of processes that start together one migrates, and the
 * others find it done. The migrator of the query layer holds its lock beyond a transaction, which pgbouncer can't give.
 * The table it keeps is the same.
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
