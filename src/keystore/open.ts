import { createDecipheriv, timingSafeEqual } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import { deriveKey } from './derive-key.ts'
import { type Keystore, parseKeystore } from './parse.ts'
import { addressOfKey, PRIVATE_KEY_BYTES } from './private-key.ts'

export const CIPHER = 'aes-128-ctr'

/** Returns the authentication code, which verifies the password before anything is decrypted. */
export function macOf(key: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const secret = Buffer.concat([key.subarray(16, 32), ciphertext])
  const mac = keccak_256(secret)
  secret.fill(0)
  return mac
}

/**
 * Decrypts the content of a keystore. The caller wipes it.
 *
 * Wallets encode non-ASCII passwords differently: some normalize them first (NFKC). So the password is tried as given,
 * and then normalized.
 *
 * @param name the keystore's name in messages
 * @throws GdnError `invalid_input` if the password is wrong
 */
export async function decrypt(keystore: Keystore, password: Secret, name: string): Promise<Buffer> {
  const composed = new Secret(password.reveal().normalize('NFKC'))
  const spellings = composed.reveal() === password.reveal() ? [password] : [password, composed]
  for (const spelling of spellings) {
    const key = await deriveKey(spelling, keystore.kdf)
    try {
      if (!timingSafeEqual(macOf(key, keystore.ciphertext), keystore.mac)) continue
      const decipher = createDecipheriv(CIPHER, key.subarray(0, 16), keystore.iv)
      return Buffer.concat([decipher.update(keystore.ciphertext), decipher.final()])
    } finally {
      key.fill(0)
    }
  }
  throw new GdnError('invalid_input', 'the password is wrong, or the file was changed', {
    place: { file: name },
  })
}

export interface OpenedKeystore {
  /** `0x` and 64 hex digits. */
  privateKey: Secret
  /** Derived from the key, in lower case. */
  address: string
}

/**
 * Opens a Web3 Secret Storage keystore of version 3 (scrypt or PBKDF2), as geth, cast, MetaMask and ethers write them.
 *
 * @param name the keystore's name in messages
 * @throws GdnError `invalid_input` if it isn't a keystore, requires too much of the machine, doesn't open with this
 *   password, or has the key of another address than it states
 * @example
 * const { address, privateKey } = await openKeystore(text, password, 'signer.json')
 */
export async function openKeystore(text: string, password: Secret, name: string): Promise<OpenedKeystore> {
  const keystore = parseKeystore(text, name)
  const fail = (message: string) => new GdnError('invalid_input', message, { place: { file: name } })
  if (keystore.ciphertext.length > PRIVATE_KEY_BYTES) throw fail('has something other than a private key')
  const bytes = await decrypt(keystore, password, name)
  // A few old writers omitted leading zeros.
  const key = Buffer.concat([Buffer.alloc(PRIVATE_KEY_BYTES - bytes.length), bytes])
  try {
    const address = addressOfKey(key)
    if (address === null) throw fail('has a number that is not a private key of this curve')
    if (keystore.address !== null && keystore.address !== address) {
      throw fail(`states the address ${keystore.address}, but has the key of ${address}`)
    }
    return { privateKey: new Secret(`0x${key.toString('hex')}`), address }
  } finally {
    bytes.fill(0)
    key.fill(0)
  }
}
