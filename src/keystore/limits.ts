/** Keystores are a few hundred bytes. What is much larger is none. */
export const MAX_KEYSTORE_BYTES = 256 * 1024

/** scrypt as geth's standard has it: 256 MiB, about half a second. */
export const SCRYPT = { n: 262_144, r: 8, p: 1 } as const

// What a keystore may demand of the machine that opens it. A file decides it, and the file may come from anywhere: four
// times the work of the standard, which is what the strongest settings in use come to, and with it at most 1 GiB (scrypt
// takes 128 bytes for each step of n · r).
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

/** What is wrong with the parameters of a key derivation, or null: asked before any memory or time is taken for it. */
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
      message: `with r and p asks for too much: ${memory}, ${n * r * p} steps; at most ${MAX_SCRYPT_WORK} are done`,
    }
  }
  return null
}

function pbkdf2Problem({ c }: Pbkdf2): { field: string; message: string } | null {
  if (Number.isSafeInteger(c) && c >= 1 && c <= MAX_PBKDF2_ROUNDS) return null
  return { field: 'c', message: `must be a whole number from 1 to ${MAX_PBKDF2_ROUNDS}` }
}
