import { stat } from 'node:fs/promises'

/**
 * Returns the inode number of a file or directory. A renamed file keeps its inode number, and a copy has a different
 * one.
 */
export async function fileIdentity(path: string): Promise<string> {
  const { ino } = await stat(path, { bigint: true })
  return String(ino)
}
