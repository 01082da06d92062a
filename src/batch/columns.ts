type Numbers = Uint8Array | Uint32Array | Float64Array

/** A column of numbers that grows: what a batch knows of a million rows must not be a million objects. */
export class Column<Store extends Numbers> {
  #store: Store
  readonly #make: (length: number) => Store
  length = 0

  constructor(make: (length: number) => Store) {
    this.#make = make
    this.#store = make(256)
  }

  push(value: number): void {
    this.set(this.length, value)
  }

  get(index: number): number {
    return index < this.length ? (this.#store[index] ?? 0) : 0
  }

  /** How many entries aren't 0. */
  count(): number {
    let count = 0
    for (let index = 0; index < this.length; index++) if (this.#store[index] !== 0) count++
    return count
  }

  /** Grows to the index where needed; what lies between is 0. */
  set(index: number, value: number): void {
    if (index >= this.#store.length) {
      const grown = this.#make(Math.max(index + 1, Math.ceil(this.#store.length * 1.5)))
      grown.set(this.#store)
      this.#store = grown
    }
    this.#store[index] = value
    if (index >= this.length) this.length = index + 1
  }
}

export const bytes = () => new Column((length) => new Uint8Array(length))
export const integers = () => new Column((length) => new Uint32Array(length))
export const offsets = () => new Column((length) => new Float64Array(length))

export type ByteColumn = Column<Uint8Array>
export type IntegerColumn = Column<Uint32Array>
export type OffsetColumn = Column<Float64Array>
