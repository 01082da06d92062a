import type { StoredFileContent } from './adapter.ts'

/** Returns at most the first `end` bytes of a stored file. */
export async function firstBytes(file: Pick<StoredFileContent, 'stream'>, end: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const bytes of file.stream({ start: 0, end })) parts.push(bytes)
  return Buffer.concat(parts)
}
