import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../src/core/errors.ts'

/** Returns the files in a folder that contain a secret as text, hex, base64 or raw bytes. */
export async function filesHolding(dir: string, secret: string): Promise<string[]> {
  const needles = spellings(secret)
  const found: string[] = []
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    // A database deletes its log files when it is closed.
    const bytes = await readFile(path).catch((error) => {
      if (systemCode(error) === 'ENOENT') return Buffer.alloc(0)
      throw error
    })
    if (needles.some((needle) => bytes.includes(needle))) found.push(path)
  }
  return found
}

/** Whether a text contains a secret in any of its spellings. */
export function textHolds(text: string, secret: string): boolean {
  const bytes = Buffer.from(text)
  return spellings(secret).some((needle) => bytes.includes(needle))
}

/** Returns a secret as text, and for a private key also its bytes as hex, base64 and raw. */
export function spellings(secret: string): Buffer[] {
  const hex = /^0x([0-9a-f]{64})$/i.exec(secret)?.[1]
  const all = [secret, ...base64(Buffer.from(secret))].map((text) => Buffer.from(text))
  if (hex === undefined) return all
  const key = Buffer.from(hex, 'hex')
  return [...all, key, ...[hex, hex.toUpperCase(), ...base64(key)].map((text) => Buffer.from(text))]
}

/** Base64 without the last characters, which depend on the following bytes. */
function base64(bytes: Buffer): string[] {
  return [bytes.toString('base64'), bytes.toString('base64url')].map((text) => text.replace(/=+$/, '').slice(0, -1))
}
