import { createHash } from 'node:crypto'
import { type Key, keyOf, keyOfBytes, PROGRAMS } from './key.ts'

/**
 * The seed of a mint: the ID of its collection or NFT without dashes, which has exactly the 32 bytes that a seed may
 * have.
 */
export function seedOf(id: string): string {
  return id.replaceAll('-', '')
}

/**
 * Returns the mint of a collection or an NFT. It depends only on the signer and the ID, so a second transaction for the
 * same ID finds the address taken. Nothing can be minted twice.
 */
export function mintKey(signer: Key, id: string): Key {
  const hash = createHash('sha256')
  return keyOfBytes(hash.update(signer.bytes).update(seedOf(id)).update(PROGRAMS.token2022.bytes).digest())
}

/** Returns the address of {@link mintKey}. */
export const mintAddress = (signer: string, id: string): string => mintKey(keyOf(signer), id).address
