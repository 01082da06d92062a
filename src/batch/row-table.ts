import { bytes, integers, offsets } from './columns.ts'
import { KeyTable } from './key-table.ts'
import { isContentKey, type RowKey } from './row-key.ts'

/**
 * States of a row. A refused row's request is known to have had no effect; a failed one's NFT was taken and failed;
 * a dropped one left the manifest before anything came of it; an absent one is unknown, but isn't in the collection.
 */
export const ROW = {
  pending: 0,
  unknown: 1,
  accepted: 2,
  deployed: 3,
  failed: 4,
  refused: 5,
  dropped: 6,
  absent: 7,
} as const
export type RowState = (typeof ROW)[keyof typeof ROW]

/** A row by its number; new, or anew after it had been dropped. */
export interface Entered {
  row: number
  isNew: boolean
}

/** The rows of a run by their keys: in which state each is, in which line it stands, and what tells a change of it. */
export class RowTable extends KeyTable {
  readonly #state = bytes()
  readonly #line = integers()
  /** The first 13 digits of the content's hash, enough to see a change; 0 for a row that is named by its content. */
  readonly #content = offsets()
  readonly #counts = new Float64Array(8)

  state(row: number): RowState {
    return this.#state.get(row) as RowState
  }

  setState(row: number, state: RowState): void {
    this.#count(this.state(row), -1)
    this.#count(state, 1)
    this.#state.set(row, state)
  }

  /** How many rows are in a state. */
  count(state: RowState): number {
    return this.#counts[state] ?? 0
  }

  /** How many rows have an `id`. The others are named by their content. */
  countIds(): number {
    return this.#content.count()
  }

  line(row: number): number {
    return this.#line.get(row)
  }

  /** The number of a row, made pending if it is new or had been dropped. */
  enter(key: RowKey, line: number, content: string): Entered {
    return this.#enter(this.add(key), line, isContentKey(key) ? 0 : contentNumber(content))
  }

  /** As `enter`, of a row that is named by its content. */
  enterContent(content: string, copy: number, line: number): Entered {
    return this.#enter(this.addContent(content, copy), line, 0)
  }

  /** As `enter`, by the place among the keys or contents that were read last. */
  enterRead(index: number, line: number, content = 0): Entered {
    return this.#enter(this.addRead(index), line, content)
  }

  /** As `enter`, by what `copyWords` and `contentNumber` gave; 0 for a row that is named by its content. */
  enterKept(keys: Uint32Array, start: number, line: number, content: number): number {
    return this.#enter(this.addWords(keys, start), line, content).row
  }

  /** Whether a row of this key is known with another content. */
  isKeptChanged(key: Uint32Array, content: number): boolean {
    const row = this.findWords(key)
    const known = row < 0 ? 0 : this.#content.get(row)
    return known !== 0 && known !== content
  }

  sameContent(row: number, content: string): boolean {
    const known = this.#content.get(row)
    return known === 0 || known === contentNumber(content)
  }

  setContent(row: number, content: string): void {
    if (this.#content.get(row) !== 0) this.#content.set(row, contentNumber(content))
  }

  /** A row in one of these states is to be sent again. */
  reopen(row: number, states: readonly RowState[]): void {
    if (states.includes(this.state(row))) this.setState(row, ROW.pending)
  }

  /** A row that isn't in the manifest any more, and of which nothing came, is forgotten; tells whether it was. */
  drop(row: number): boolean {
    const state = this.state(row)
    if (state !== ROW.pending && state !== ROW.refused) return false
    this.setState(row, ROW.dropped)
    return true
  }

  #enter(row: number, line: number, content: number): Entered {
    const isNew = row === this.#state.length || this.state(row) === ROW.dropped
    if (row === this.#state.length) {
      this.#state.set(row, ROW.pending)
      this.#count(ROW.pending, 1)
      if (content !== 0) this.#content.set(row, content)
    } else if (isNew) this.setState(row, ROW.pending)
    this.#line.set(row, line)
    return { row, isNew }
  }

  #count(state: RowState, change: number): void {
    this.#counts[state] = (this.#counts[state] ?? 0) + change
  }
}

/** As much of a content hash as a number holds; never 0. */
export const contentNumber = (content: string): number => Number.parseInt(content.slice(0, 13), 16) + 1
