import { hash as hashOnce, randomBytes } from 'node:crypto'

// Keys needn't be random: people choose addresses with many zeros, and a manifest may be made to be slow.
const SEED = randomBytes(4).readUInt32LE()
const PIECE_BITS = 14
const PIECE = 1 << PIECE_BITS

/** Numbers keys of so many 32-bit words in the order in which they first appear: 32 to 48 bytes each for four words. */
export class WordTable {
  readonly #width: number
  readonly #pieces: Uint32Array[] = []
  /**
   * Open addressing, two words a slot: hash of the key, and its number + 1. With the hash beside it, hardly ever is a
   * key looked at in vain, and none to grow: of a million, each look is a cache miss.
   */
  #slots = new Uint32Array(2048)
  #mask = 1023
  #size = 0
  /** Only there so that what `warm` reads is read. */
  #touched = 0

  constructor(width: number) {
    this.#width = width
  }

  get size(): number {
    return this.#size
  }

  /** The number of a key, or -1. */
  find(key: Uint32Array): number {
    return (this.#slots[this.#slotOf(key, 0, this.#hash(key, 0)) + 1] ?? 0) - 1
  }

  /**
   * Reads what keys that lie side by side will be looked for by: misses of the cache that don't wait for each other
   * take a fraction of what they take one by one, and were a fifth of all the time that a million rows took.
   */
  warm(keys: Uint32Array, count: number): void {
    const slots = this.#slots
    let touched = 0
    for (let key = 0; key < count; key++) touched ^= slots[(this.#hash(keys, key * this.#width) & this.#mask) * 2] ?? 0
    this.#touched ^= touched
  }

  /** The number of a key, which may begin anywhere in a list, given to it now if it has none. */
  add(key: Uint32Array, start = 0): number {
    const hash = this.#hash(key, start)
    const at = this.#slotOf(key, start, hash)
    const found = this.#slots[at + 1] ?? 0
    if (found > 0) return found - 1
    const index = this.#size++
    const width = this.#width
    let piece = this.#pieces[index >>> PIECE_BITS]
    if (piece === undefined) {
      piece = new Uint32Array(PIECE * width)
      this.#pieces.push(piece)
    }
    const from = (index & (PIECE - 1)) * width
    for (let word = 0; word < width; word++) piece[from + word] = key[start + word] ?? 0
    this.#slots[at] = hash
    this.#slots[at + 1] = index + 1
    if (this.#size * 2 > this.#mask) this.#grow()
    return index
  }

  /** Puts the keys of numbers that follow each other into a list. */
  copyRange(from: number, count: number, words: Uint32Array): void {
    for (let index = from; index < from + count; ) {
      const start = index & (PIECE - 1)
      const size = Math.min(PIECE - start, from + count - index)
      const keys = this.#pieces[index >>> PIECE_BITS]?.subarray(start * this.#width, (start + size) * this.#width)
      if (keys !== undefined) words.set(keys, (index - from) * this.#width)
      index += size
    }
  }

  /** Puts the words of a number's key into a list, from a place on. */
  copyTo(index: number, words: Uint32Array, at: number): void {
    const from = (index & (PIECE - 1)) * this.#width
    const piece = this.#pieces[index >>> PIECE_BITS]
    for (let word = 0; word < this.#width; word++) words[at + word] = piece?.[from + word] ?? 0
  }

  /** Where a key stands in the slots, or would. */
  #slotOf(key: Uint32Array, start: number, hash: number): number {
    const slots = this.#slots
    const mask = this.#mask
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = slot * 2
      const found = slots[at + 1] ?? 0
      if (found === 0 || (slots[at] === hash && this.#isAt(key, start, found - 1))) return at
    }
  }

  #isAt(key: Uint32Array, start: number, index: number): boolean {
    const piece = this.#pieces[index >>> PIECE_BITS]
    const from = (index & (PIECE - 1)) * this.#width
    for (let word = 0; word < this.#width; word++) if (piece?.[from + word] !== key[start + word]) return false
    return true
  }

  #hash(key: Uint32Array, start: number): number {
    let hash = SEED
    for (let word = 0; word < this.#width; word++) {
      hash = Math.imul(hash ^ (key[start + word] ?? 0), 0x9e3779b1)
      hash ^= hash >>> 15
    }
    return hash >>> 0
  }

  #grow(): void {
    const old = this.#slots
    const mask = this.#mask * 2 + 1
    const slots = new Uint32Array((mask + 1) * 2)
    for (let from = 0; from < old.length; from += 2) {
      const found = old[from + 1] ?? 0
      if (found === 0) continue
      const hash = old[from] ?? 0
      let slot = hash & mask
      while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & mask
      slots[slot * 2] = hash
      slots[slot * 2 + 1] = found
    }
    this.#slots = slots
    this.#mask = mask
  }
}

/** Of what is kept of a key. */
export const KEY_WORDS = 4
const CONTENT_START = 'row:'.length
/** Of a content hash. */
export const CONTENT_BYTES = 10
const CONTENT_END = CONTENT_START + CONTENT_BYTES * 2
const KEY_BYTES = KEY_WORDS * 4
// Fills the half of a word that is 0 in what is a hash of another text.
const CONTENT_KEY = 1
const HALF = CONTENT_BYTES / 2
const UPPER = /[A-F]/
const COPY = /^#([1-9]\d{0,8})$/

/**
 * Numbers the keys of rows in the order in which they first appear. What it keeps of `row:…` is all that it says, of
 * any other text 112 bits of its SHA-256: 32 to 48 bytes each, where a Map of strings takes 155.
 */
export class KeyTable {
  readonly #table = new WordTable(KEY_WORDS)
  readonly #words = new Uint32Array(KEY_WORDS)
  readonly #halves = new Uint16Array(this.#words.buffer)
  readonly #bytes = Buffer.from(this.#words.buffer)
  /** The keys of the block that was read last, and the bytes of their hashes. */
  #block = new Uint32Array(0)
  #hashes = Buffer.alloc(0)

  get size(): number {
    return this.#table.size
  }

  /** The number of a text, or -1. */
  find(text: string): number {
    this.#read(text)
    return this.#table.find(this.#words)
  }

  /** The number of a text, given to it now if it has none. */
  add(text: string): number {
    this.#read(text)
    return this.#table.add(this.#words)
  }

  /** As `add` of `row:…`, by its content hash and the number of the copy: without a text to take apart. */
  addContent(content: string, copy: number): number {
    this.#bytes.write(content, 'hex')
    this.#halves[HALF] = CONTENT_KEY
    this.#words[KEY_WORDS - 1] = copy
    return this.#table.add(this.#words)
  }

  /** Takes the content hashes of rows that `addRead` is to number, many at once, which is far cheaper. */
  readContents(contents: readonly string[]): void {
    this.#makeRoom(contents.length)
    this.#hashes.write(contents.join(''), 'hex')
    this.readHashes(this.#hashes, contents.length)
  }

  /** As `readContents`, of hashes that lie side by side. */
  readHashes(hashes: Uint8Array, count: number): void {
    this.#makeRoom(count)
    const bytes = new Uint8Array(this.#block.buffer)
    const halves = new Uint16Array(this.#block.buffer)
    for (let index = 0; index < count; index++) {
      const from = index * CONTENT_BYTES
      for (let byte = 0; byte < CONTENT_BYTES; byte++) bytes[index * KEY_BYTES + byte] = hashes[from + byte] ?? 0
      halves[index * KEY_WORDS * 2 + HALF] = CONTENT_KEY
      this.#block[(index + 1) * KEY_WORDS - 1] = 1
    }
    this.#table.warm(this.#block, count)
  }

  /** Takes keys that `addRead` is to number. */
  readKeys(keys: readonly string[]): void {
    this.#makeRoom(keys.length)
    for (const [index, key] of keys.entries()) {
      this.#read(key)
      this.#block.set(this.#words, index * KEY_WORDS)
    }
    this.#table.warm(this.#block, keys.length)
  }

  #makeRoom(count: number): void {
    if (this.#block.length >= count * KEY_WORDS) return
    this.#block = new Uint32Array(count * KEY_WORDS)
    this.#hashes = Buffer.alloc(count * CONTENT_BYTES)
  }

  /** As `add`, or `addContent` of the first copy, by the place in the list that was read last. */
  addRead(index: number): number {
    return this.#table.add(this.#block, index * KEY_WORDS)
  }

  /** As `find`, by what another table kept of the key. */
  findWords(words: Uint32Array): number {
    return this.#table.find(words)
  }

  /** As `add`, by what another table kept of the key. */
  addWords(words: Uint32Array, start: number): number {
    return this.#table.add(words, start)
  }

  /** See `WordTable.warm`: of all keys in a list. */
  warm(words: Uint32Array): void {
    this.#table.warm(words, words.length / KEY_WORDS)
  }

  /** Puts what is kept of the keys of numbers that follow each other into a list. */
  copyRange(from: number, count: number, words: Uint32Array): void {
    this.#table.copyRange(from, count, words)
  }

  /** Puts what is kept of a number's key into a list, from a place on. */
  copyWords(index: number, words: Uint32Array, at: number): void {
    this.#table.copyTo(index, words, at)
  }

  #read(text: string): void {
    const copy = text.startsWith('row:') ? copyOf(text) : 0
    if (copy > 0 && this.#bytes.write(text.slice(CONTENT_START, CONTENT_END), 'hex') === CONTENT_BYTES) {
      this.#halves[HALF] = CONTENT_KEY
      this.#words[KEY_WORDS - 1] = copy
      return
    }
    this.#bytes.write(hashOnce('sha256', text).slice(0, KEY_BYTES * 2), 'hex')
    this.#halves[HALF] = 0
  }
}

/** The number of the copy that a key names; 0 where it is written otherwise than we do. */
function copyOf(key: string): number {
  if (key.length === CONTENT_END) return UPPER.test(key) ? 0 : 1
  const copy = Number(COPY.exec(key.slice(CONTENT_END))?.[1] ?? 0)
  return copy > 1 && !UPPER.test(key) ? copy : 0
}
