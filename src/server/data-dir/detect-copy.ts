import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileIdentity } from '../../core/file-identity.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import { startIncarnation } from '../store/identity.ts'
import type { Db } from '../store/schema.ts'
import { databasePath } from './database-path.ts'

const IDENTITY_FILE = 'database-file'

/**
 * Starts a new incarnation if the SQLite database isn't the file that was used at the last start. In that case, the
 * data directory was copied, or files of a backup were restored. Because of the new incarnation, clients check whether
 * the backend still has the requests that they recorded as accepted.
 */
export async function detectCopy(db: Db, dataDir: string): Promise<void> {
  const path = join(dataDir, IDENTITY_FILE)
  const recorded = (await readFile(path, 'utf8').catch(() => '')).trim()
  const identity = await fileIdentity(databasePath(dataDir))
  if (recorded === identity) return
  // Write the file last, so that the next start repeats both steps if the process is killed between them.
  if (recorded !== '') await startIncarnation(db)
  await writePrivateFile(path, `${identity}\n`)
}
