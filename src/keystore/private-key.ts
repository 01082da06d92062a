import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { Secret } from '../core/secret.ts'

export const PRIVATE_KEY_BYTES = 32

const PRIVATE_KEY_PATTERN = /^(0x)?([0-9a-fA-F]{64})$/

/**
 * Returns a private key in its canonical spelling, which is `0x` and 64 hex digits in lower case. Returns null for any
 * other text.
 */
export function readPrivateKey(text: string): Secret | null {
  const digits = PRIVATE_KEY_PATTERN.exec(text)?.[2]
  return digits === undefined ? null : new Secret(`0x${digits.toLowerCase()}`)
}

/** A private key in the form that wallets import and export, and its address. */
export interface WalletKey {
  /** For EVM, the address with a checksum. For Solana, the address in base58. */
  address: string
  /** For EVM, `0x` and 64 hex digits. For Solana, the keypair in base58. */
  privateKey: Secret
}

/** Returns the bytes of a private key: 32 bytes for EVM, and 64 bytes for Solana. The caller must wipe the bytes. */
export function privateKeyBytes(key: Secret): Buffer {
  const text = key.reveal()
  return text.startsWith('0x') ? Buffer.from(text.slice(2), 'hex') : Buffer.from(base58btc.baseDecode(text))
}

/**
 * Returns the address of a private key in lower case. Returns null if the key is invalid for secp256k1, which means
 * that it is zero or not below the order of the curve.
 */
export function deriveAddress(bytes: Uint8Array): string | null {
  const curve = createECDH('secp256k1')
  try {
    curve.setPrivateKey(bytes)
  } catch {
    return null
  }
  const point = curve.getPublicKey(null, 'uncompressed')
  return `0x${Buffer.from(keccak_256(point.subarray(1)).subarray(12)).toString('hex')}`
}
