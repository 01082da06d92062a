import { pbkdf2, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { GdnError, messageOf } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import { type Kdf, kdfProblem } from './limits.ts'

/** Length of the derived key in bytes. The first half encrypts, and the second half authenticates. */
export const DERIVED_BYTES = 32

const scryptKey = promisify(scrypt) as (
  password: Uint8Array,
  salt: Uint8Array,
  size: number,
  options: object,
) => Promise<Buffer>
const pbkdf2Key = promisify(pbkdf2)

/**
 * Derives a key from a password with scrypt or PBKDF2, natively and off the main thread if possible. The caller must
 * wipe the key after use.
 *
 * @throws GdnError `invalid_input` for parameters beyond the limits, before anything is allocated; `unexpected` if the
 * machine has too little memory
 */
export async function deriveKey(password: Secret, kdf: Kdf): Promise<Buffer> {
  const problem = kdfProblem(kdf)
  if (problem !== null) throw new GdnError('invalid_input', problem.message, { place: { field: problem.field } })
  const bytes = Buffer.from(password.reveal(), 'utf8')
  try {
    if (kdf.kdf === 'pbkdf2') return await pbkdf2Key(bytes, kdf.salt, kdf.c, DERIVED_BYTES, 'sha256')
    const { n, r, p, salt } = kdf
    // RFC 7914 requires n below 2^(16·r), and OpenSSL enforces that. The first test vector of the keystore format has
    // r=1 and n=2^18.
    if (r === 1 && n >= 65_536) {
      const { scryptAsync } = await import('@noble/hashes/scrypt.js')
      return Buffer.from(await scryptAsync(bytes, salt, { N: n, r, p, dkLen: DERIVED_BYTES, maxmem: 2 ** 31 }))
    }
    // OpenSSL needs slightly more memory than 128 · r · (n + p) bytes.
    const maxmem = 128 * r * (n + p + 2) + 1024 * 1024
    return await scryptKey(bytes, salt, DERIVED_BYTES, { N: n, r, p, maxmem })
  } catch (error) {
    throw new GdnError('unexpected', `can't derive the key from the password: ${messageOf(error)}`, {
      hint: 'Free some memory: the derivation usually needs 256 MiB.',
      cause: error,
    })
  } finally {
    bytes.fill(0)
  }
}
