import { createWriteStream, openSync, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { rejectOnAbort } from '../../core/or-aborted.ts'
import { readPrivateText } from '../../core/private-file.ts'
import { isDiskFull } from '../data-dir/disk-full.ts'
import { openDataDir } from '../data-dir/open.ts'
import { openDatabase } from '../open-database.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from '../settings/database.ts'
import { appliedMigrations } from '../store/migrate.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { type Row, readTableRows, TableChecksum } from './rows.ts'
import { readTables, type TableShape } from './tables.ts'

/** The format and version in the header of an export. */
export const EXPORT_FORMAT = { gdn: 'database', version: 1 } as const

/** Secrets that a single process stores in files of its data directory. A cluster stores them in its database. */
export const SECRET_FILES = ['url-secret', 'signers.json', 'solana-signer.json'] as const

/** The result of an export or import. */
export interface CopyResult {
  file: string
  database: string
  tables: number
  rows: number
  nfts: number
  seconds: number
  [field: string]: unknown
}

/**
 * Writes a consistent snapshot of a backend's database to a file, as one line of JSON per row. The file is private,
 * because it contains the secret of signed URLs and the keys of embedded chains. The backend of a data directory must
 * be stopped.
 *
 * @param signal aborts the export and removes the file
 * @throws GdnError `data_dir_busy`; `usage` if the file already exists or can't be written
 */
export async function exportDatabase(
  place: DatabaseLocation,
  path: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<CopyResult> {
  const since = performance.now()
  const file = resolve(path)
  const usesDataDir = (await resolveDatabaseSettings(place)) === null
  const lock = usesDataDir ? await openDataDir(resolve(place.dataDir)) : null
  try {
    const store = await openDatabase(place)
    try {
      const counts = await writeExport(store, usesDataDir ? readSecrets(place.dataDir) : [], file, signal)
      const database = store.postgres?.name ?? resolve(place.dataDir)
      return { file, database, ...counts, seconds: Math.round((performance.now() - since) / 100) / 10 }
    } finally {
      await rejectOnAbort(store.close(), signal)
    }
  } finally {
    await lock?.release()
  }
}

/** Writes the file, and removes it on failure. */
async function writeExport({ db }: Store, secrets: readonly Row[], file: string, signal: AbortSignal) {
  const output = openNewFile(file)
  const counts = { tables: 0, rows: 0, nfts: 0 }
  try {
    const written = db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((db) => pipeline(exportLines(db, secrets, counts), output, { signal }))
    // Don't wait for the transaction after an abort: if the database doesn't respond, the transaction can't end.
    await rejectOnAbort(written, signal)
    return counts
  } catch (error) {
    await rm(file, { force: true })
    throw isDiskError(error) ? cannotWriteError(file, error) : error
  }
}

/** Opens a new private file. The file is synced to disk when it is closed. */
function openNewFile(file: string): WriteStream {
  try {
    return createWriteStream(file, { fd: openSync(file, 'wx', 0o600), flush: true })
  } catch (cause) {
    throw cannotWriteError(file, cause)
  }
}

const isDiskError = (error: unknown) => isDiskFull(error) || systemCode(error) === 'EIO'

function cannotWriteError(file: string, cause: unknown): GdnError {
  const fileExists = systemCode(cause) === 'EEXIST'
  return new GdnError(
    'usage',
    fileExists ? `the file ${file} already exists` : `the file can't be written: ${messageOf(cause)}`,
    {
      place: { file },
      hint: isDiskFull(cause)
        ? 'Free disk space, or choose a file on another disk.'
        : fileExists
          ? 'Choose a file that does not exist yet.'
          : 'Choose a file in a directory that exists and is writable.',
      cause,
    },
  )
}

function readSecrets(dataDir: string): Row[] {
  return SECRET_FILES.flatMap((name) => {
    const value = readPrivateText(`${resolve(dataDir)}/${name}`, { code: 'data_dir' })
    return value === null ? [] : [[name, value]]
  })
}

/** Yields the lines of an export, and counts the exported tables, rows and NFTs in `counts`. */
async function* exportLines(
  db: Db,
  secrets: readonly Row[],
  counts: { tables: number; rows: number; nfts: number },
): AsyncGenerator<string> {
  yield formatLine({ ...EXPORT_FORMAT, migrations: await appliedMigrations(db) })
  for (const table of await readTables(db)) {
    const sum = new TableChecksum()
    yield formatLine({ table: table.name, columns: table.columns })
    for await (const rows of readPages(db, table, secrets)) {
      for (const row of rows) {
        sum.add(row)
        yield formatLine(row)
      }
    }
    yield formatLine({ end: table.name, rows: sum.rowCount, sha256: sum.sha256 })
    counts.tables += 1
    counts.rows += sum.rowCount
    if (table.name === 'nfts') counts.nfts = sum.rowCount
  }
  yield formatLine({ end: 'all', tables: counts.tables })
}

const formatLine = (line: object): string => `${JSON.stringify(line)}\n`

async function* readPages(db: Db, table: TableShape, secrets: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield* readTableRows(db, table)
  if (table.name === 'secrets') yield secrets
}
