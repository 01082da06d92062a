import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'

const SEED_BYTES = 32
/**
 * Length of a keypair in bytes. A keypair is the seed of an Ed25519 key, followed by the public key. solana-keygen and
 * wallets use this form.
 */
export const KEYPAIR_BYTES = 64

// The prefix of a 32-byte Ed25519 key in PKCS #8 (RFC 8410).
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the Ed25519 private key for a seed. */
export function ed25519Key(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, seed])
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } finally {
    der.fill(0)
  }
}

/** Returns the public key of an Ed25519 key. The address is the public key in base58. */
export const publicKeyBytes = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)

/** Returns the keypair for a seed. The caller must wipe the keypair. */
export const deriveKeypair = (seed: Uint8Array): Buffer => Buffer.concat([seed, publicKeyBytes(ed25519Key(seed))])

/** Returns the address of a keypair in base58, or null if the public key doesn't match the private key. */
export function deriveKeypairAddress(bytes: Uint8Array): string | null {
  if (bytes.length !== KEYPAIR_BYTES) return null
  const publicKey = publicKeyBytes(ed25519Key(bytes.subarray(0, SEED_BYTES)))
  return publicKey.equals(bytes.subarray(SEED_BYTES)) ? base58btc.baseEncode(publicKey) : null
}

/** Returns the bytes of a solana-keygen file, which is a JSON array of 64 numbers. Returns null for any other value. */
export function parseJsonKeypair(json: unknown): Uint8Array | null {
  return Array.isArray(json) && json.length === KEYPAIR_BYTES && json.every(isByte) ? Uint8Array.from(json) : null
}

const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255

/** Returns whether a text is a Solana address, which is 32 bytes in base58. */
export function isSolanaAddress(text: string): boolean {
  try {
    return text.length <= 44 && base58btc.baseDecode(text).length === 32
  } catch {
    return false
  }
}
