import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, readSync } from 'node:fs'
import { existingPath } from './existing-path.ts'

/** Returns the SHA-256 hash of a local file in hexadecimal. Reads the file in chunks. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(existingPath(path))) hash.update(chunk)
  return hash.digest('hex')
}

const CHUNK_BYTES = 1024 * 1024

/** Returns the SHA-256 hash of a local file synchronously, for use inside a database transaction. */
export function sha256OfFileSync(path: string): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const file = openSync(existingPath(path), 'r')
  try {
    for (let bytes = readSync(file, chunk); bytes > 0; bytes = readSync(file, chunk))
      hash.update(chunk.subarray(0, bytes))
  } finally {
    closeSync(file)
  }
  return hash.digest('hex')
}
