import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { existingPath } from './existing-path.ts'

/** Returns the SHA-256 hash of a local file in hexadecimal. Reads the file in chunks. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(existingPath(path))) hash.update(chunk)
  return hash.digest('hex')
}
