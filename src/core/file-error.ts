import { GdnError, messageOf, systemCode } from './errors.ts'

const REASONS_BY_CODE: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is exceeded',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EIO: 'the disk has an I/O error',
  ENOTDIR: 'a part of its path is not a directory',
  EISDIR: 'it is a directory',
  ELOOP: 'its path has too many symbolic links',
  ENAMETOOLONG: 'its path is too long',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files on this machine',
}

const FIX_DISK = 'Free some space or fix the permissions, then run the same command again.'

/**
 * Runs a file operation. If it fails with a system error, adds the path to the error, because errors from file handles
 * don't contain one.
 */
export async function withPathInErrors<Value>(path: string, task: () => Promise<Value>): Promise<Value> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof Error && systemCode(error) !== undefined && !('path' in error)) Object.assign(error, { path })
    throw error
  }
}

/** Converts the error of a failed file operation to a GdnError. Returns null for any other error. */
export function fileError(error: unknown): GdnError | null {
  const reason = isFailedMkdir(error) ? "the directory can't be created" : REASONS_BY_CODE[systemCode(error) ?? '']
  const path = error instanceof Error && 'path' in error ? error.path : undefined
  if (reason === undefined || typeof path !== 'string') return null
  return new GdnError('file_error', reason, {
    place: { file: path },
    hint: systemCode(error) === 'ENOTDIR' ? 'Check the path.' : FIX_DISK,
    details: { system: messageOf(error) },
    cause: error,
  })
}

/**
 * Returns whether `mkdir` failed with ENOENT. File systems that can't create directories, such as /proc, report this
 * code, and so does the recursive `mkdir` of Node.js.
 */
const isFailedMkdir = (error: unknown): boolean =>
  systemCode(error) === 'ENOENT' && error instanceof Error && 'syscall' in error && error.syscall === 'mkdir'
