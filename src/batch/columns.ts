type Numbers = Uint8Array | Uint32Array | Float64Array

const PIECE_BITS = 16
const PIECE = 1 << PIECE_BITS
const MASK = PIECE - 1
const FIRST = 256

/**
 * A column of numbers that grows: what a batch knows of a million rows must not be a million objects. It is kept in
 * pieces, because a single array has to be copied to grow, and is there twice meanwhile.
 */
export class Column<Store extends Numbers> {
  readonly #pieces: Store[]
  readonly #make: (length: number) => Store
  length = 0

  constructor(make: (length: number) => Store) {
    this.#make = make
    this.#pieces = [make(FIRST)]
  }

  push(value: number): void {
    this.set(this.length, value)
  }

  get(index: number): number {
    return index < this.length ? (this.#pieces[index >>> PIECE_BITS]?.[index & MASK] ?? 0) : 0
  }

  /** How many entries aren't 0. */
  count(): number {
    let count = 0
    for (let index = 0; index < this.length; index++) if (this.get(index) !== 0) count++
    return count
  }

  /** Grows to the index where needed; what lies between is 0. */
  set(index: number, value: number): void {
    let piece = this.#pieces[index >>> PIECE_BITS]
    if (piece === undefined || piece.length <= (index & MASK)) piece = this.#grow(index)
    piece[index & MASK] = value
    if (index >= this.length) this.length = index + 1
  }

  /** The entries as they lie, a piece after the other. */
  *pieces(): Generator<Store> {
    for (let at = 0; at < this.length; at += PIECE) {
      const piece = this.#pieces[at >>> PIECE_BITS]
      if (piece !== undefined) yield piece.subarray(0, Math.min(PIECE, this.length - at)) as Store
    }
  }

  #grow(index: number): Store {
    const last = index >>> PIECE_BITS
    // Only the first piece begins small: most batches are.
    const [first] = this.#pieces
    if (first !== undefined && first.length < PIECE) {
      const wanted = last > 0 ? PIECE : Math.min(PIECE, Math.max(index + 1, first.length * 2))
      const grown = this.#make(wanted)
      grown.set(first)
      this.#pieces[0] = grown
    }
    while (this.#pieces.length <= last) this.#pieces.push(this.#make(PIECE))
    const piece = this.#pieces[last]
    if (piece === undefined) throw new RangeError(`no entry ${index}`)
    return piece
  }
}

/** A column of numbers that may well be 0, 1, 2, …, and takes no room as long as they are. */
export class Sequence {
  #column: IntegerColumn | null = null
  length = 0

  /** The numbers; null where every one is its own place. */
  get column(): IntegerColumn | null {
    return this.#column
  }

  push(value: number): void {
    if (this.#column === null && value !== this.length) {
      this.#column = integers()
      for (let index = 0; index < this.length; index++) this.#column.push(index)
    }
    this.#column?.push(value)
    this.length++
  }

  get(index: number): number {
    return this.#column === null ? index : this.#column.get(index)
  }
}

export const bytes = () => new Column((length) => new Uint8Array(length))
export const integers = () => new Column((length) => new Uint32Array(length))
export const offsets = () => new Column((length) => new Float64Array(length))

export type ByteColumn = Column<Uint8Array>
export type IntegerColumn = Column<Uint32Array>
export type OffsetColumn = Column<Float64Array>
