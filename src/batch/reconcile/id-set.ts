import { type IntegerColumn, integers } from '../columns.ts'

const FIRST_SLOTS = 1024
const WORDS = 2
/** Words that are looked up together. */
const STEP = 1024

/**
 * A set of ids that keeps 64 bits of each: 16 to 32 bytes, where a Set of strings takes 155. That two of a million ids
 * have the same 64 bits has a chance of 3e-8.
 */
export class IdSet {
  #slots = new Uint32Array(FIRST_SLOTS * WORDS)
  #size = 0
  /** Hashes that `addLater` took, which are only put into the table when somebody asks for something. */
  #later: IntegerColumn | null = null
  /** Only there so that what is read beforehand is read. */
  #touched = 0

  get size(): number {
    this.#settle()
    return this.#size
  }

  /**
   * As `add` of each, which is put off until it matters: most runs never ask what the ids of a million rows are for,
   * and together they take a fraction of the time.
   */
  addLater(ids: readonly (string | null)[]): void {
    this.#later ??= integers()
    for (const id of ids) {
      if (id === null) continue
      const [high, low] = hash(id)
      this.#later.push(high)
      this.#later.push(low)
    }
  }

  /** Tells whether it is new. */
  add(id: string): boolean {
    this.#settle()
    const [high, low] = hash(id)
    return this.#add(high, low)
  }

  addAll(other: IdSet): void {
    this.#settle()
    for (const [high, low] of other.#hashes()) this.#add(high, low)
  }

  has(id: string): boolean {
    this.#settle()
    const [high, low] = hash(id)
    return this.#slots[this.#placeOf(high, low)] === high
  }

  /** Eight bytes for each id, in no order. */
  toBytes(): Buffer {
    const bytes = Buffer.alloc(this.size * 8)
    let at = 0
    for (const [high, low] of this.#hashes()) {
      bytes.writeUInt32LE(high, at)
      bytes.writeUInt32LE(low, at + 4)
      at += 8
    }
    return bytes
  }

  static of(ids: Iterable<string>): IdSet {
    const set = new IdSet()
    for (const id of ids) set.add(id)
    return set
  }

  static fromBytes(bytes: Buffer): IdSet {
    const set = new IdSet()
    for (let at = 0; at + 8 <= bytes.length; at += 8) set.#add(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4))
    return set
  }

  #settle(): void {
    const later = this.#later
    if (later === null) return
    this.#later = null
    this.#growFor(this.#size + later.length / WORDS)
    for (const piece of later.pieces()) {
      for (let from = 0; from < piece.length; from += STEP) {
        const to = Math.min(piece.length, from + STEP)
        this.#warm(piece, from, to)
        for (let at = from; at < to; at += WORDS) this.#add(piece[at] ?? 0, piece[at + 1] ?? 0)
      }
    }
  }

  /** Reads the slots of hashes: misses of the cache that don't wait for each other. */
  #warm(hashes: Uint32Array, from: number, to: number): void {
    const slots = this.#slots
    const mask = slots.length / WORDS - 1
    let touched = 0
    for (let at = from; at < to; at += WORDS) touched ^= slots[((hashes[at + 1] ?? 0) & mask) * WORDS] ?? 0
    this.#touched ^= touched
  }

  #add(high: number, low: number): boolean {
    const at = this.#placeOf(high, low)
    if (this.#slots[at] === high) return false
    this.#slots[at] = high
    this.#slots[at + 1] = low
    this.#size++
    if (this.#size * 2 * WORDS > this.#slots.length) this.#growFor(this.#size)
    return true
  }

  /** Where a hash stands, or the free slot for it. The first word is never 0, so a slot of 0 is free. */
  #placeOf(high: number, low: number): number {
    const mask = this.#slots.length / WORDS - 1
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * WORDS
      if (this.#slots[at] === 0 || (this.#slots[at] === high && this.#slots[at + 1] === low)) return at
    }
  }

  /** Makes room for so many, half of it free. */
  #growFor(size: number): void {
    let length = this.#slots.length
    while (size * 2 * WORDS > length) length *= 2
    if (length === this.#slots.length) return
    const old = this.#slots
    this.#slots = new Uint32Array(length)
    for (let from = 0; from < old.length; from += WORDS) {
      const high = old[from] ?? 0
      if (high === 0) continue
      const at = this.#placeOf(high, old[from + 1] ?? 0)
      this.#slots[at] = high
      this.#slots[at + 1] = old[from + 1] ?? 0
    }
  }

  #hashes(): Generator<[number, number]> {
    this.#settle()
    return hashesIn(this.#slots)
  }
}

function* hashesIn(slots: Uint32Array): Generator<[number, number]> {
  for (let at = 0; at < slots.length; at += WORDS) {
    const high = slots[at] ?? 0
    if (high !== 0) yield [high, slots[at + 1] ?? 0]
  }
}

// Two lanes of multiply and mix; a tenth of the time of SHA-256. Nobody gains by making ids collide.
function hash(id: string): [high: number, low: number] {
  let a = 0x9e3779b1
  let b = 0x85ebca6b
  for (let index = 0; index < id.length; index++) {
    const unit = id.charCodeAt(index)
    a = Math.imul(a ^ unit, 0x5bd1e995)
    b = Math.imul(b ^ unit, 0xc2b2ae35)
    a ^= a >>> 15
    b ^= b >>> 13
  }
  a = Math.imul(a ^ (b >>> 16), 0x27d4eb2f)
  b = Math.imul(b ^ (a >>> 15), 0x165667b1)
  a ^= b >>> 14
  return [a >>> 0 || 1, (b ^ (a << 7)) >>> 0]
}
