import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileIdentity } from '../../core/file-identity.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import { startIncarnation } from '../store/identity.ts'
import type { Db } from '../store/schema.ts'

const DATABASE = 'gdn.db'
const FILE = 'database-file'

/**
 * Starts a new incarnation where the SQLite database of a data dir is not the file that it was: the data dir was copied,
 * or files of a backup were put in its place. Clients then check what they believe accepted.
 */
export async function noticeCopy(db: Db, dataDir: string): Promise<void> {
  const path = join(dataDir, FILE)
  const known = (await readFile(path, 'utf8').catch(() => '')).trim()
  const found = await fileIdentity(join(dataDir, DATABASE))
  if (known === found) return
  // In this order: a process that is killed in between does it again.
  if (known !== '') await startIncarnation(db)
  await writePrivateFile(path, `${found}\n`)
}
