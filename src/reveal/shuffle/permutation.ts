import { createCipheriv, createHash } from 'node:crypto'

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
 * A Fisher–Yates shuffle from the last slot down. Its random words are the ChaCha20 key stream of the seed.
 */
export function rowsOfSlots(seed: Uint8Array, rows: number): Uint32Array {
  const drawn = Uint32Array.from({ length: rows }, (_, at) => at + 1)
  const next = wordsFrom(seed)
  for (let last = rows - 1; last > 0; last--) {
    const count = last + 1
    // Words at or above this limit would make small numbers more likely.
    const limit = Math.floor(2 ** 32 / count) * count
    let word = next()
    while (word >= limit) word = next()
    const other = word % count
    const row = drawn[last] ?? 0
    drawn[last] = drawn[other] ?? 0
    drawn[other] = row
  }
  return drawn
}

const CHUNK = Buffer.alloc(16_384)

/** Returns the 32-bit little-endian words of the ChaCha20 key stream (RFC 8439, zero nonce, counter 0). */
export function wordsFrom(seed: Uint8Array): () => number {
  const cipher = createCipheriv('chacha20', seed, Buffer.alloc(16))
  let stream: Buffer = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === stream.length) {
      stream = cipher.update(CHUNK)
      at = 0
    }
    const word = stream.readUInt32LE(at)
    at += 4
    return word
  }
}
