/** Maximum size of a keystore file in bytes. A typical keystore has a few hundred bytes. */
export const MAX_KEYSTORE_BYTES = 256 * 1024

/** geth's standard scrypt parameters. Key derivation with these parameters needs 256 MiB and about half a second. */
export const DEFAULT_SCRYPT = { n: 262_144, r: 8, p: 1 } as const

// Limits on the memory and time for opening a keystore, whose parameters may come from an untrusted source. The limits
// permit four times the work of geth's standard settings, which are the strongest in use. With these limits, scrypt
// needs at most 1 GiB, because it needs 128 bytes for each step of n · r.
const MAX_SCRYPT_WORK = 2 ** 23
const MAX_PBKDF2_ROUNDS = 10_000_000
const SALT_BYTES = { min: 1, max: 1024 }

export interface Scrypt {
  kdf: 'scrypt'
  n: number
  r: number
  p: number
  salt: Uint8Array
}

export interface Pbkdf2 {
  kdf: 'pbkdf2'
  c: number
  salt: Uint8Array
}

export type Kdf = Scrypt | Pbkdf2

/**
 * Returns the reason why key derivation parameters are rejected, or null if they are valid. The check derives no key.
 */
export function kdfProblem(kdf: Kdf): { field: string; message: string } | null {
  const { salt } = kdf
  if (salt.length < SALT_BYTES.min || salt.length > SALT_BYTES.max) {
    return { field: 'salt', message: `must have ${SALT_BYTES.min} to ${SALT_BYTES.max} bytes` }
  }
  return kdf.kdf === 'scrypt' ? scryptProblem(kdf) : pbkdf2Problem(kdf)
}

function scryptProblem({ n, r, p }: Scrypt): { field: string; message: string } | null {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1 && value <= MAX_SCRYPT_WORK
  if (!isCount(n) || n < 2 || (n & (n - 1)) !== 0) {
    return { field: 'n', message: `must be a power of two from 2 to ${MAX_SCRYPT_WORK}` }
  }
  if (!isCount(r)) return { field: 'r', message: `must be a whole number from 1 to ${MAX_SCRYPT_WORK}` }
  if (!isCount(p)) return { field: 'p', message: `must be a whole number from 1 to ${MAX_SCRYPT_WORK}` }
  if (n * r * p > MAX_SCRYPT_WORK) {
    const memory = `${Math.round((128 * n * r) / 1024 / 1024)} MiB of memory`
    return {
      field: 'n',
      message: `is too large with these values of r and p: n × r × p is ${n * r * p} (${memory}), but can be at most ${MAX_SCRYPT_WORK}`,
    }
  }
  return null
}

function pbkdf2Problem({ c }: Pbkdf2): { field: string; message: string } | null {
  if (Number.isSafeInteger(c) && c >= 1 && c <= MAX_PBKDF2_ROUNDS) return null
  return { field: 'c', message: `must be a whole number from 1 to ${MAX_PBKDF2_ROUNDS}` }
}
