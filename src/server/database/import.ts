import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { GdnError, messageOf } from '../../core/errors.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import { databasePath } from '../data-dir/database-path.ts'
import { openDataDir } from '../data-dir/open.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from '../settings/database.ts'
import { isPostgres } from '../store/dialect.ts'
import { startIncarnation } from '../store/identity.ts'
import { appliedMigrations, CURRENT_SCHEMA, schemaName } from '../store/migrate.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { isUnstorableText } from '../store/postgres/gone.ts'
import type { Db } from '../store/schema.ts'
import { type CopyResult, EXPORT_FORMAT, SECRET_FILES } from './export.ts'
import { type Row, readTableRows, TableChecksum, writeRows } from './rows.ts'
import { readTables, type TableShape } from './tables.ts'

const ROWS_PER_BATCH = 1000

/**
 * Imports an export into an empty database in one transaction. Each table is read back and compared with the export by
 * count and hash. The backend keeps its ID and gets a new incarnation. Clients use the incarnation to detect that
 * requests accepted after the export are missing.
 *
 * @throws GdnError `invalid_input` for a file that isn't a complete export of this version; `data_dir` if the database
 *   isn't empty
 */
export async function importDatabase(place: DatabaseLocation, path: string): Promise<CopyResult> {
  const since = performance.now()
  const file = resolve(path)
  const isFolder = await stat(file).then(
    (stats) => stats.isDirectory(),
    (cause: unknown) => {
      throw new GdnError('invalid_input', `the file can't be read: ${messageOf(cause)}`, { place: { file }, cause })
    },
  )
  if (isFolder) throw new GdnError('invalid_input', 'the path is a directory, not an export', { place: { file } })
  const postgres = await resolveDatabaseSettings(place)
  const lock = postgres === null ? await openDataDir(resolve(place.dataDir)) : null
  try {
    const store = await openTarget(place)
    try {
      const counted = await store.db.transaction().execute(async (db) => {
        const { secrets, ...counted } = await importTables(db, file)
        await startIncarnation(db)
        // Store the keys before the commit, because the rows are useless without these keys.
        if (postgres === null) await writeSecretFiles(db, resolve(place.dataDir), secrets)
        return counted
      })
      // Without statistics, PostgreSQL plans queries of tables with millions of rows as if the tables were empty.
      await sql`analyze`.execute(store.db)
      const database = store.postgres?.name ?? resolve(place.dataDir)
      return { file, database, ...counted, seconds: Math.round((performance.now() - since) / 100) / 10 }
    } finally {
      await store.close()
    }
  } finally {
    await lock?.release()
  }
}

async function openTarget(place: DatabaseLocation): Promise<Store> {
  const postgres = await resolveDatabaseSettings(place)
  if (postgres === null) return await openStore(databasePath(place.dataDir))
  const { openPostgres } = await import('../store/postgres/open-postgres.ts')
  return await openPostgres({ ...postgres, maxConnections: 2 })
}

/** Stores the secrets in files of the data directory, where a single process reads them. */
async function writeSecretFiles(db: Db, dataDir: string, secrets: readonly Row[]): Promise<void> {
  for (const [name, value] of secrets) {
    if (SECRET_FILES.some((secretFile) => secretFile === name))
      await writePrivateFile(join(dataDir, String(name)), String(value))
  }
  await db.deleteFrom('secrets').execute()
}

interface TableImport {
  table: TableShape
  checksum: TableChecksum
  rows: Row[]
}

async function importTables(db: Db, file: string) {
  const tables = await readTables(db)
  await refuseUnlessEmpty(db, tables)
  const counts = { tables: 0, rows: 0, nfts: 0, secrets: [] as Row[] }
  let number = 0
  let current: TableImport | null = null
  let isComplete = false
  const lineError = (problem: string) => new GdnError('invalid_input', problem, { place: { file, line: number } })
  const flush = async (to: TableImport) => {
    try {
      await writeRows(db, to.table, to.rows.splice(0))
    } catch (cause) {
      if (!isUnstorableText(cause)) throw cause
      throw lineError(`a row of ${to.table.name} before this line has a NUL character, which PostgreSQL can't store`)
    }
  }
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    const line = parse(text, lineError)
    if (number === 1) refuseOtherExports(line, await appliedMigrations(db), lineError)
    else if (Array.isArray(line)) {
      if (current === null || line.length !== current.table.columns.length)
        throw lineError('the row does not belong to a table')
      current.checksum.add(line as Row)
      current.rows.push(line as Row)
      if (current.table.name === 'secrets') counts.secrets.push(line as Row)
      if (current.rows.length === ROWS_PER_BATCH) await flush(current)
    } else if ('table' in line) {
      const table = tables.find(({ name }) => name === line.table)
      if (table === undefined || JSON.stringify(table.columns) !== JSON.stringify(line.columns)) {
        throw lineError(`this version of gdn has no table ${String(line.table)} with these columns`)
      }
      current = { table, checksum: new TableChecksum(), rows: [] }
    } else if ('end' in line && current !== null && line.end === current.table.name) {
      await flush(current)
      await compare(db, current, line, lineError)
      counts.tables += 1
      counts.rows += current.checksum.rowCount
      if (current.table.name === 'nfts') counts.nfts = current.checksum.rowCount
      current = null
    } else if ('end' in line && line.end === 'all' && line.tables === counts.tables) isComplete = true
    else throw lineError('the line is in an unexpected position')
  }
  if (!isComplete) throw lineError('the file is incomplete: it ends here')
  return counts
}

function parse(text: string, lineError: (problem: string) => GdnError): Record<string, unknown> | unknown[] {
  const line = parseJson(text)
  if (isObject(line)) return line
  throw lineError('the line is not part of an export')
}

function refuseOtherExports(
  head: Record<string, unknown> | unknown[],
  migrations: readonly string[],
  lineError: (problem: string) => GdnError,
): void {
  if (Array.isArray(head) || head.gdn !== EXPORT_FORMAT.gdn || head.version !== EXPORT_FORMAT.version) {
    throw lineError('the file was not written by `gdn db export`')
  }
  if (JSON.stringify(head.migrations) === JSON.stringify(migrations)) return
  const schema = Array.isArray(head.migrations) ? schemaName(head.migrations.map(String)) : 'none'
  throw lineError(
    `the export was written by another version of gdn: it has schema ${schema}, and this version has schema ${CURRENT_SCHEMA}`,
  ).withHint('Nothing was imported. Use the same version of gdn for the export and the import.')
}

/** Checks that the file's rows, the file's trailer and the database match. Then sets the sequence of the table. */
async function compare(
  db: Db,
  { table, checksum }: TableImport,
  end: Record<string, unknown>,
  lineError: (problem: string) => GdnError,
): Promise<void> {
  if (end.rows !== checksum.rowCount || end.sha256 !== checksum.sha256) {
    throw lineError(`the rows of ${table.name} do not match the export: the file was changed or damaged`)
  }
  const stored = new TableChecksum()
  for await (const rows of readTableRows(db, table)) for (const row of rows) stored.add(row)
  if (stored.rowCount !== checksum.rowCount || stored.sha256 !== checksum.sha256) {
    throw lineError(`the database does not return the rows of ${table.name} as they were exported`)
  }
  // New rows must continue the sequence of the imported rows.
  if (!isPostgres(db) || table.sequence === null || checksum.rowCount === 0) return
  await sql`select setval(pg_get_serial_sequence(${table.name}, ${table.sequence}),
    (select max(${sql.ref(table.sequence)}) from ${sql.table(table.name)}))`.execute(db)
}

async function refuseUnlessEmpty(db: Db, tables: readonly TableShape[]): Promise<void> {
  for (const { name } of tables) {
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db)
    if (rows.length === 0) continue
    throw new GdnError('data_dir', `the database is not empty: ${name} has rows`, {
      hint: 'Import into a new database before you start a process that uses it.',
    })
  }
}
