import { createECDH, randomFillSync } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { checksumAddress } from '../../api/address.ts'

const KEY_BYTES = 32
const HEX = '0123456789abcdef'

/**
 * A private key that can be erased. Its bytes are outside the garbage collector's heap and never become a string or a
 * BigInt. Strings and BigInts can't be overwritten, and stay in memory until the memory is reused.
 */
export interface ErasableKey {
  /** The checksummed address. */
  address: string
  /** The private key as ASCII bytes: `0x` and 64 hex digits. */
  hexBytes: Buffer
  /** Overwrites all copies of the key in this process. */
  destroy(): void
}

/** Creates a key with the operating system's random generator. */
export function createWalletKey(): ErasableKey {
  const memory = Buffer.from(new ArrayBuffer(KEY_BYTES + 2 + 2 * KEY_BYTES))
  const bytes = memory.subarray(0, KEY_BYTES)
  const hexBytes = memory.subarray(KEY_BYTES)
  const address = publicKeyAddress(fillWithKey(bytes))
  hexBytes.write('0x', 'latin1')
  for (const [at, byte] of bytes.entries()) {
    hexBytes[2 + 2 * at] = HEX.charCodeAt(byte >> 4)
    hexBytes[3 + 2 * at] = HEX.charCodeAt(byte & 15)
  }
  bytes.fill(0)
  return { address, hexBytes, destroy: () => void memory.fill(0) }
}

/** Fills the buffer with a new private key. Returns the public key. */
function fillWithKey(bytes: Buffer): Buffer {
  const curve = createECDH('secp256k1')
  for (;;) {
    randomFillSync(bytes)
    try {
      curve.setPrivateKey(bytes)
      break
    } catch {
      // Generate another key, because this one is zero or not below the curve's order. The probability is about 2^-127.
    }
  }
  const publicKey = curve.getPublicKey()
  // Overwrite OpenSSL's copy of the key, which would otherwise stay until the object is collected.
  curve.setPrivateKey(Buffer.alloc(KEY_BYTES, 1))
  return publicKey
}

/**
 * Returns the address of an uncompressed public key: the last 20 bytes of the hash of the key without its prefix byte.
 */
function publicKeyAddress(publicKey: Buffer): string {
  const hash = Buffer.from(keccak_256(publicKey.subarray(1)))
  return checksumAddress(`0x${hash.toString('hex', hash.length - 20)}`)
}
