import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import type { Secret } from '../core/secret.ts'
import { DERIVED_BYTES, deriveKey } from './derive-key.ts'
import { DEFAULT_SCRYPT } from './limits.ts'
import { CIPHER, computeMac } from './open.ts'
import { privateKeyBytes } from './private-key.ts'

/** Encrypts keystores with a key that was derived in advance, because the derivation needs memory and time. */
export interface KeystoreSeal {
  /** Returns a keystore as JSON in Web3 Secret Storage version 3. The content of a Solana keystore is the keypair. */
  sealKeystore(privateKey: Secret, address: string): string
  /**
   * Like `sealKeystore`, but for any bytes, which you can decrypt with `decrypt`. No wallet mistakes the result for a
   * keystore.
   */
  sealBytes(content: Uint8Array): string
  /** Wipes the derived key. */
  wipe(): void
}

/**
 * Derives the key for one keystore, with a new salt. If there is too little memory, fails before anything else is done.
 *
 * @example
 * const seal = await prepareSeal(password)
 * const text = seal.keystore(privateKey, address)
 * seal.wipe()
 */
export async function prepareSeal(password: Secret): Promise<KeystoreSeal> {
  const salt = randomBytes(32)
  const key = await deriveKey(password, { kdf: 'scrypt', ...DEFAULT_SCRYPT, salt })
  const encrypt = (content: Uint8Array) => {
    const iv = randomBytes(16)
    const cipher = createCipheriv(CIPHER, key.subarray(0, 16), iv)
    const ciphertext = Buffer.concat([cipher.update(content), cipher.final()])
    return {
      cipher: CIPHER,
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'scrypt',
      kdfparams: { dklen: DERIVED_BYTES, ...DEFAULT_SCRYPT, salt: salt.toString('hex') },
      mac: Buffer.from(computeMac(key, ciphertext)).toString('hex'),
    }
  }
  const toText = (value: object) => `${JSON.stringify(value)}\n`
  return {
    sealKeystore(privateKey, address) {
      const bytes = privateKeyBytes(privateKey)
      try {
        return toText({
          address: address.startsWith('0x') ? address.slice(2).toLowerCase() : address,
          crypto: encrypt(bytes),
          id: randomUUID(),
          version: 3,
        })
      } finally {
        bytes.fill(0)
      }
    },
    sealBytes: (content) => toText({ crypto: encrypt(content), id: randomUUID(), version: 3, kept: 'answer' }),
    wipe: () => void key.fill(0),
  }
}
