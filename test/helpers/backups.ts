import { cp, rm } from 'node:fs/promises'
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

/** Replaces the database of a stopped backend with a backup. */
export async function restore(dataDir: string, file: string): Promise<void> {
  forgetDatabaseOf(dataDir)
  for (const end of ['', '-wal', '-shm']) await rm(join(dataDir, `gdn.db${end}`), { force: true })
  await importDatabase(await placeOf(dataDir), file)
}

/**
 * Copies the folder of a stopped backend. In this process, SQLite removes the WAL file only when its last statement is
 * collected, which may be during the copy. The copy is then repeated.
 */
export async function copyFolder(from: string, to: string): Promise<void> {
  for (;;) {
    try {
      return await cp(from, to, { recursive: true, preserveTimestamps: true })
    } catch (error) {
      const { code, path = '' } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || !/-(wal|shm)$/.test(path)) throw error
      await rm(to, { recursive: true, force: true })
    }
  }
}
