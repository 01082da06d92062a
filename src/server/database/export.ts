import { once } from 'node:events'
import { createWriteStream, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { readPrivateText } from '../../core/private-file.ts'
import { openBeside } from '../administration.ts'
import { openDataDir } from '../data-dir/open.ts'
import { type DatabasePlace, databaseOf } from '../settings/database.ts'
import { appliedMigrations } from '../store/migrate.ts'
import type { Db } from '../store/schema.ts'
import { type Row, readRows, TableSum } from './rows.ts'
import { type TableShape, tablesOf } from './tables.ts'

/** What the head of an export says of it. */
export const FORMAT = { gdn: 'database', version: 1 } as const

/** Secrets that one process keeps in its data dir, and processes that share a database keep in that. */
export const SECRET_FILES = ['url-secret', 'signers.json', 'solana-signer.json'] as const

/** What was exported or imported. */
export interface Moved {
  file: string
  database: string
  tables: number
  rows: number
  nfts: number
  seconds: number
  [field: string]: unknown
}

/**
 * Writes all that a backend's database holds into a file, a line of JSON for each row, as it is at one moment. The file
 * is private: it holds the secret of signed URLs and the keys of embedded chains. A data dir's backend must be stopped.
 *
 * @throws GdnError `data_dir_busy`; `usage` where the file is there already or can't be written
 */
export async function exportDatabase(place: DatabasePlace, path: string): Promise<Moved> {
  const since = performance.now()
  const file = resolve(path)
  const isOfDataDir = (await databaseOf(place)) === null
  const lock = isOfDataDir ? await openDataDir(resolve(place.dataDir)) : null
  try {
    const store = await openBeside(place)
    const output = openNew(file)
    try {
      const counted = await store.db
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute((db) => writeAll(db, isOfDataDir ? secretsOf(place.dataDir) : [], output))
      output.stream.end()
      await finished(output.stream)
      const database = store.shared?.name ?? resolve(place.dataDir)
      return { file, database, ...counted, seconds: Math.round((performance.now() - since) / 100) / 10 }
    } catch (error) {
      output.stream.destroy()
      await rm(file, { force: true })
      throw error
    } finally {
      await store.close()
    }
  } finally {
    await lock?.release()
  }
}

interface Output {
  stream: ReturnType<typeof createWriteStream>
  write(line: object): Promise<void>
}

function openNew(file: string): Output {
  let fd: number
  try {
    fd = openSync(file, 'wx', 0o600)
  } catch (cause) {
    const isThere = systemCode(cause) === 'EEXIST'
    throw new GdnError('usage', isThere ? `${file} is there already` : `can't be written: ${messageOf(cause)}`, {
      place: { file },
      hint: 'name a file that is not there yet',
      cause,
    })
  }
  const stream = createWriteStream(file, { fd })
  return {
    stream,
    async write(line) {
      if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain')
    },
  }
}

function secretsOf(dataDir: string): Row[] {
  return SECRET_FILES.flatMap((name) => {
    const value = readPrivateText(`${resolve(dataDir)}/${name}`, { code: 'data_dir' })
    return value === null ? [] : [[name, value]]
  })
}

async function writeAll(db: Db, secrets: readonly Row[], { write }: Output) {
  await write({ ...FORMAT, migrations: await appliedMigrations(db) })
  const counted = { tables: 0, rows: 0, nfts: 0 }
  for (const table of await tablesOf(db)) {
    const sum = new TableSum()
    await write({ table: table.name, columns: table.columns })
    for await (const rows of pagesOf(db, table, secrets)) {
      for (const row of rows) {
        sum.add(row)
        await write(row)
      }
    }
    await write({ end: table.name, rows: sum.rows, sha256: sum.sha256 })
    counted.tables += 1
    counted.rows += sum.rows
    if (table.name === 'nfts') counted.nfts = sum.rows
  }
  await write({ end: 'all', tables: counted.tables })
  return counted
}

async function* pagesOf(db: Db, table: TableShape, secrets: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield* readRows(db, table)
  if (table.name === 'secrets') yield secrets
}
