import { access, chmod, constants, stat } from 'node:fs/promises'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { makePrivateFolder, refuseForeignFolder } from '../../core/private-file.ts'
import { type DataDirLock, lockDataDir } from './lock.ts'

const HINTS: Readonly<Record<string, string>> = {
  EROFS: 'the disk is read-only: choose another folder with --data-dir',
  EACCES: 'choose a folder that you may write to with --data-dir',
  EPERM: 'choose a folder that you may write to with --data-dir',
  ENOTDIR: 'a part of the path is a file: choose another folder with --data-dir',
  EEXIST: 'it is a file: choose a folder with --data-dir',
}

/** Makes the folder where needed, private to its owner, checks that it can be written, and locks it. */
export const openDataDir = (dataDir: string): Promise<DataDirLock> => open(dataDir, lockDataDir)

/** The same for a folder that several processes may have in common, because what they must not share is in a database. */
export const openDataDirOfPostgres = (dataDir: string): Promise<void> => open(dataDir, () => {})

async function open<Result>(dataDir: string, take: (dataDir: string) => Result): Promise<Result> {
  try {
    await makePrivateFolder(dataDir)
    await refuseForeignFolder(dataDir, { code: 'data_dir' })
    await access(dataDir, constants.W_OK | constants.X_OK)
    if (process.platform !== 'win32' && ((await stat(dataDir)).mode & 0o077) !== 0) await chmod(dataDir, 0o700)
    return take(dataDir)
  } catch (cause) {
    if (cause instanceof GdnError) throw cause
    throw new GdnError('data_dir', `can't use the data dir ${dataDir}: ${messageOf(cause)}`, {
      hint: HINTS[systemCode(cause) ?? ''] ?? 'check the folder, or choose another with --data-dir',
      cause,
    })
  }
}
