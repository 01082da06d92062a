import { type IntegerColumn, integers, offsets } from './columns.ts'
import type { Span } from './lines.ts'

const STEP_BITS = 6
const STEP = 1 << STEP_BITS

/** Places of lines that follow each other in a file: their lengths, and where each 64th begins. */
export class Spans {
  readonly lengths: IntegerColumn = integers()
  readonly #from = offsets()
  #end: number

  /** @param start where the first of them begins */
  constructor(start = 0) {
    this.#end = start
  }

  /** Takes the next line's length, without its line end. */
  push(length: number): void {
    if (this.lengths.length % STEP === 0) this.#from.push(this.#end)
    this.lengths.push(length)
    this.#end += length + 1
  }

  get(index: number): Span {
    const step = index >>> STEP_BITS
    let offset = this.#from.get(step)
    for (let before = step * STEP; before < index; before++) offset += this.lengths.get(before) + 1
    return { offset, length: this.lengths.get(index) }
  }
}

/** Places of lines anywhere behind the first one of a file, by number. */
export class SpanTable {
  readonly #offset = offsets()
  readonly #length = integers()

  has(index: number): boolean {
    return this.#offset.get(index) !== 0
  }

  get(index: number): Span {
    return { offset: this.#offset.get(index), length: this.#length.get(index) }
  }

  set(index: number, { offset, length }: Span): void {
    this.#offset.set(index, offset)
    this.#length.set(index, length)
  }

  clear(index: number): void {
    if (this.has(index)) this.#offset.set(index, 0)
  }
}
