import { createHash } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'

export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

/** The seed of a mint: the id of its collection or NFT without dashes, exactly the 32 bytes that a seed may have. */
export function seedOf(id: string): string {
  return id.replaceAll('-', '')
}

/**
 * The address of the mint of a collection or an NFT. It follows from who signs and from the id alone, so that a second
 * transaction for the same id finds it taken: nothing is minted twice, whatever is signed.
 */
export function mintAddress(signer: string, id: string): string {
  const hash = createHash('sha256')
  hash.update(base58btc.baseDecode(signer)).update(seedOf(id)).update(base58btc.baseDecode(TOKEN_2022))
  return base58btc.baseEncode(hash.digest())
}
