import { stat } from 'node:fs/promises'

/** Returns the inode number of a file or directory. A rename keeps it, and a copy gets another one. */
export async function fileIdentity(path: string): Promise<string> {
  const { ino } = await stat(path, { bigint: true })
  return String(ino)
}
