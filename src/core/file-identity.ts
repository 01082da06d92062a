import { stat } from 'node:fs/promises'

/** Returns an identity that a copy of a file or directory doesn't share: its inode number, which a rename keeps. */
export async function fileIdentity(path: string): Promise<string> {
  const { ino } = await stat(path, { bigint: true })
  return String(ino)
}
