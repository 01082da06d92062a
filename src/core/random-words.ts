import { createCipheriv, createHash } from 'node:crypto'

const CHUNK = Buffer.alloc(16_384)

/** Returns the 32-bit little-endian words of the ChaCha20 key stream (RFC 8439, zero nonce, counter 0). */
export function createWordStream(seed: Uint8Array): () => number {
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

/** A random number generator whose results depend only on a 32-byte key, on every machine and version of Node.js. */
export class RandomWords {
  readonly #next: () => number

  constructor(key: Uint8Array) {
    this.#next = createWordStream(key)
  }

  /** Returns a random integer from 0 up to but excluding `count`, which is at most 2 ** 32. */
  below(count: number): number {
    // Skip words at or above this limit, because they would make small numbers more likely.
    const limit = Math.floor(2 ** 32 / count) * count
    let word = this.#next()
    while (word >= limit) word = this.#next()
    return word % count
  }

  /** Returns a random number from 0 up to but excluding 1, with 53 random bits. */
  unit(): number {
    const high = this.#next() >>> 5
    return (high * 2 ** 26 + (this.#next() >>> 6)) / 2 ** 53
  }

  /** Shuffles a list in place (Fisher–Yates). */
  shuffle<List extends { length: number; [index: number]: unknown }>(list: List): List {
    for (let last = list.length - 1; last > 0; last--) {
      const other = this.below(last + 1)
      const item = list[last]
      list[last] = list[other]
      list[other] = item
    }
    return list
  }
}

/** A random number generator whose results depend only on a seed text and a purpose. */
export class SeededRandom extends RandomWords {
  /**
   * Creates a generator for a seed.
   *
   * @param seed any text
   * @param purpose makes the random numbers of each step independent, so that a change in one step doesn't affect the
   *   others
   */
  constructor(seed: string, purpose: string) {
    const hash = createHash('sha256').update(JSON.stringify(['gdn-random-v1', purpose, seed]))
    super(hash.digest())
  }
}
