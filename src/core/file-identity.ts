import { stat } from 'node:fs/promises'

/** What tells a file or folder from a copy of it: the number of its inode, which a rename keeps and a copy doesn't. */
export async function fileIdentity(path: string): Promise<string> {
  const { ino } = await stat(path, { bigint: true })
  return String(ino)
}
