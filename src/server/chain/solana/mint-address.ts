import { createHash } from 'node:crypto'
import { type Key, keyFromBytes, PROGRAMS, parseKey } from './key.ts'

/**
 * Returns the seed of a mint: the ID of its collection or NFT without dashes. The seed has 32 bytes, which is the
 * maximum.
 */
export function toMintSeed(id: string): string {
  return id.replaceAll('-', '')
}

/**
 * Returns the mint of a collection or an NFT. The address depends only on the signer and the ID, so nothing can be
 * minted twice: a second transaction for the same ID fails because the address is in use.
 */
export function mintKey(signer: Key, id: string): Key {
  const hash = createHash('sha256')
  return keyFromBytes(hash.update(signer.bytes).update(toMintSeed(id)).update(PROGRAMS.token2022.bytes).digest())
}

export const mintAddress = (signer: string, id: string): string => mintKey(parseKey(signer), id).address
