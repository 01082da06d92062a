import { createDecipheriv, timingSafeEqual } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import { deriveKey } from './derive-key.ts'
import { isSolanaKeystore, type Keystore, parseKeystore } from './parse.ts'
import { deriveAddress, PRIVATE_KEY_BYTES } from './private-key.ts'
import { deriveKeypairAddress, KEYPAIR_BYTES } from './solana-key.ts'

const WRONG_PASSWORD_PROBLEM = 'the password is wrong, or the file was changed'

/**
 * Returns a function that rethrows an error from opening a keystore. If the password is wrong, the error's hint
 * contains the path of the password file.
 *
 * @param file the password file, or undefined or `-` if the password is typed or piped
 */
export const addPasswordFileHint =
  (file: string | undefined) =>
  (error: unknown): never => {
    const isWrong =
      error instanceof GdnError && error.message === WRONG_PASSWORD_PROBLEM && file !== undefined && file !== '-'
    throw isWrong ? error.with({ hint: `Check that ${file} has the password of this keystore.` }) : error
  }

export const CIPHER = 'aes-128-ctr'

/** Returns the authentication code, which verifies the password before anything is decrypted. */
export function computeMac(key: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const secret = Buffer.concat([key.subarray(16, 32), ciphertext])
  const mac = keccak_256(secret)
  secret.fill(0)
  return mac
}

/**
 * Decrypts the content of a keystore. The caller must wipe the result.
 *
 * Wallets encode non-ASCII passwords differently, because some normalize passwords first (NFKC). Therefore, the
 * function first tries the password as given, and then the normalized password.
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
      if (!timingSafeEqual(computeMac(key, keystore.ciphertext), keystore.mac)) continue
      const decipher = createDecipheriv(CIPHER, key.subarray(0, 16), keystore.iv)
      return Buffer.concat([decipher.update(keystore.ciphertext), decipher.final()])
    } finally {
      key.fill(0)
    }
  }
  throw new GdnError('invalid_input', WRONG_PASSWORD_PROBLEM, {
    place: { file: name },
    hint: 'Use the password that this keystore was created with.',
  })
}

export interface OpenedKeystore {
  /** For EVM, `0x` and 64 hex digits. For Solana, the keypair in base58. */
  privateKey: Secret
  /** The address, which is derived from the key. For EVM, it is in lower case. */
  address: string
}

/**
 * Opens a Web3 Secret Storage keystore of version 3 (scrypt or PBKDF2), for example from geth, cast, MetaMask or
 * ethers. Also opens Solana keystores that gdn wrote.
 *
 * @param name the keystore's name in messages
 * @throws GdnError `invalid_input` if the text isn't a keystore, needs too much memory or time, doesn't open with this
 * password, or contains a key that doesn't match its address
 * @example
 * const { address, privateKey } = await openKeystore(text, password, 'signer.json')
 */
export async function openKeystore(text: string, password: Secret, name: string): Promise<OpenedKeystore> {
  const keystore = parseKeystore(text, name)
  const keystoreError = (message: string) => new GdnError('invalid_input', message, { place: { file: name } })
  const isSolana = isSolanaKeystore(keystore)
  const size = isSolana ? KEYPAIR_BYTES : PRIVATE_KEY_BYTES
  if (keystore.ciphertext.length > size) throw keystoreError('contains something other than a private key')
  const bytes = await decrypt(keystore, password, name)
  // Restore leading zeros, which some old programs omitted.
  const key = Buffer.concat([Buffer.alloc(size - bytes.length), bytes])
  try {
    const address = isSolana ? deriveKeypairAddress(key) : deriveAddress(key)
    if (address === null) throw keystoreError('contains a number that is not a valid private key for this curve')
    if (keystore.address !== null && keystore.address !== address) {
      throw keystoreError(`contains the address ${keystore.address}, but its key belongs to ${address}`)
    }
    const text = isSolana ? base58btc.baseEncode(key) : `0x${key.toString('hex')}`
    return { privateKey: new Secret(text), address }
  } finally {
    bytes.fill(0)
    key.fill(0)
  }
}

/**
 * Like openKeystore, but only for EVM keys.
 *
 * @throws GdnError `invalid_input` for a Solana keystore
 */
export async function openEvmKeystore(text: string, password: Secret, name: string): Promise<OpenedKeystore> {
  refuseSolanaKeystore(parseKeystore(text, name), name)
  return await openKeystore(text, password, name)
}

/** @throws GdnError `invalid_input` for a Solana keystore, because an EVM network needs an EVM key */
export function refuseSolanaKeystore(keystore: Keystore, name: string): void {
  if (!isSolanaKeystore(keystore)) return
  throw new GdnError('invalid_input', `is a Solana wallet (${keystore.address}), but this is an EVM network`, {
    place: { file: name },
  })
}
