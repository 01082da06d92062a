import { createHash } from 'node:crypto'
import { RandomWords } from '../../core/random-words.ts'

/** Returns the seed of the permutation from the provenance hash and the randomness of the round. */
export const shuffleSeed = (provenance: `0x${string}`, randomness: Uint8Array): Buffer =>
  createHash('sha256')
    .update('gdn-shuffle-v1')
    .update(Buffer.from(provenance.slice(2), 'hex'))
    .update(randomness)
    .digest()

/**
 * Returns the row of each slot: the row of slot `s` is at index `s - 1`. Slots and rows are numbered from 1.
 *
 * Uses a Fisher–Yates shuffle from the last slot down. The random words are the ChaCha20 key stream of the seed.
 */
export function permuteRows(seed: Uint8Array, rows: number): Uint32Array {
  return new RandomWords(seed).shuffle(Uint32Array.from({ length: rows }, (_, at) => at + 1))
}
