import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { exportDatabase } from '../../src/server/database/export.ts'
import { importDatabase } from '../../src/server/database/import.ts'
import { forgetDatabaseOf, placeOf } from './test-database.ts'

let number = 0

/** Backs up the database of a stopped backend. Resolves with the file. */
export async function backUp(dataDir: string): Promise<string> {
  const file = join(dataDir, `backup-${number++}.jsonl`)
  await exportDatabase(await placeOf(dataDir), file)
  return file
}

/** Replaces the database of a stopped backend by a backup. */
export async function restore(dataDir: string, file: string): Promise<void> {
  forgetDatabaseOf(dataDir)
  for (const end of ['', '-wal', '-shm']) await rm(join(dataDir, `gdn.db${end}`), { force: true })
  await importDatabase(await placeOf(dataDir), file)
}
