import { randomBytes } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'
import { checksumAddress } from '../api/address.ts'
import { Secret } from '../core/secret.ts'
import { deriveAddress, PRIVATE_KEY_BYTES, type WalletKey } from '../keystore/private-key.ts'
import { deriveKeypair, deriveKeypairAddress } from '../keystore/solana-key.ts'

/** The kind of a key, which is either for all EVM networks or for Solana. */
export type KeyKind = 'evm' | 'solana'

/** Creates a key from random bytes that the operating system provides. */
export function generateKey(kind: KeyKind): WalletKey {
  for (;;) {
    const seed = randomBytes(PRIVATE_KEY_BYTES)
    const key = kind === 'solana' ? solanaKey(seed) : evmKey(seed)
    seed.fill(0)
    // About one in 2^128 numbers is not a valid secp256k1 key.
    if (key !== null) return key
  }
}

/** Returns the EVM key for 32 bytes, or null if the bytes aren't a valid secp256k1 key. */
export function evmKey(bytes: Uint8Array): WalletKey | null {
  const address = deriveAddress(bytes)
  if (address === null) return null
  return { address: checksumAddress(address), privateKey: new Secret(`0x${Buffer.from(bytes).toString('hex')}`) }
}

/** Returns the Solana key for a seed. */
export function solanaKey(seed: Uint8Array): WalletKey | null {
  const keypair = deriveKeypair(seed)
  try {
    return toSolanaKey(keypair)
  } finally {
    keypair.fill(0)
  }
}

/** Returns the Solana key for a keypair, or null if the public key doesn't match the private key. */
export function toSolanaKey(keypair: Uint8Array): WalletKey | null {
  const address = deriveKeypairAddress(keypair)
  return address === null ? null : { address, privateKey: new Secret(base58btc.baseEncode(keypair)) }
}
