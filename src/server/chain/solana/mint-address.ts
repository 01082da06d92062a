import { createHash } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'

export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

/**
 * The seed of a mint: the ID of its collection or NFT without dashes, which has exactly the 32 bytes that a seed may
 * have.
 */
export function seedOf(id: string): string {
  return id.replaceAll('-', '')
}

/**
 * Returns the mint address of a collection or an NFT. It depends only on the signer and the ID, so a second transaction
 * for the same ID finds the address taken. Nothing can be minted twice.
 */
export function mintAddress(signer: string, id: string): string {
  const hash = createHash('sha256')
  hash.update(base58btc.baseDecode(signer)).update(seedOf(id)).update(base58btc.baseDecode(TOKEN_2022))
  return base58btc.baseEncode(hash.digest())
}
