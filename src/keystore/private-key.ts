import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { Secret } from '../core/secret.ts'

export const PRIVATE_KEY_BYTES = 32

const FORM = /^(0x)?([0-9a-fA-F]{64})$/

/** Returns a private key in its canonical spelling, `0x` and 64 hex digits in lower case; null for anything else. */
export function readPrivateKey(text: string): Secret | null {
  const digits = FORM.exec(text)?.[2]
  return digits === undefined ? null : new Secret(`0x${digits.toLowerCase()}`)
}

/** A private key in the form that people exchange, and its address. */
export interface WalletKey {
  /** EVM: with checksum. Solana: base58. */
  address: string
  /** EVM: `0x` and 64 hex digits. Solana: base58 of the keypair. */
  privateKey: Secret
}

/** Returns the bytes of a private key: 32 for EVM, 64 for Solana. The caller wipes them. */
export function privateKeyBytes(key: Secret): Buffer {
  const text = key.reveal()
  return text.startsWith('0x') ? Buffer.from(text.slice(2), 'hex') : Buffer.from(base58btc.baseDecode(text))
}

/**
 * Returns the address of a private key in lower case. Null if the key is invalid for secp256k1: zero, or not below the
 * order of the curve.
 */
export function addressOfKey(bytes: Uint8Array): string | null {
  const curve = createECDH('secp256k1')
  try {
    curve.setPrivateKey(bytes)
  } catch {
    return null
  }
  const point = curve.getPublicKey(null, 'uncompressed')
  return `0x${Buffer.from(keccak_256(point.subarray(1)).subarray(12)).toString('hex')}`
}
