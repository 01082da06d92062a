import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { existingPath } from './existing-path.ts'

/** Returns the SHA-256 hash of a local file in hexadecimal. Never reads the file into memory as a whole. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(await existingPath(path))) hash.update(chunk)
  return hash.digest('hex')
}
