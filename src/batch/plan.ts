import type { ManifestRow } from '../manifest/row.ts'
import { integers, offsets } from './columns.ts'
import { KeyTable } from './key-table.ts'
import type { Span } from './lines.ts'
import { addressKey } from './row-key.ts'

export const DEFAULT_CHUNK_SIZE = 50

/** A row that is to be sent: its number in the ledger and its place in the spool. */
interface PlannedRow {
  row: number
  span: Span
}

/** Which rows travel together, in which order. */
export interface Plan {
  readonly requests: number
  readonly rows: number
  readonly receivers: number
  /** Whether rows go in another order than the manifest's. */
  readonly reordered: boolean
  /** Rows that have local files. */
  readonly withFiles: readonly PlannedRow[]
  rowsOf(request: number): PlannedRow[]
}

/** Takes the rows to be sent in the manifest's order, and puts those of one receiver and sender into one request. */
export class Planner {
  readonly #groups = new KeyTable()
  readonly #receivers = new KeyTable()
  readonly #row = integers()
  readonly #group = integers()
  readonly #offset = offsets()
  readonly #length = integers()
  readonly #withFiles: PlannedRow[] = []

  add(row: number, { receiver, sender, localFiles }: ManifestRow, span: Span): void {
    const groups = this.#groups.size
    const to = addressKey(receiver)
    this.#row.push(row)
    this.#group.push(this.#groups.add(sender === null ? to : `${to} ${addressKey(sender)}`))
    if (this.#groups.size > groups) this.#receivers.add(to)
    this.#offset.push(span.offset)
    this.#length.push(span.length)
    if (localFiles.length > 0) this.#withFiles.push({ row, span })
  }

  plan(chunkSize: number, inOrder: boolean): Plan {
    const count = this.#row.length
    const order = inOrder ? this.#identity() : this.#byGroup()
    const starts = integers()
    for (let at = 0, size = 0; at < count; at++, size++) {
      const same = at > 0 && this.#group.get(order[at] ?? 0) === this.#group.get(order[at - 1] ?? 0)
      if (!same || size === chunkSize) {
        starts.push(at)
        size = 0
      }
    }
    const planned = (at: number): PlannedRow => {
      const index = order[at] ?? 0
      return {
        row: this.#row.get(index),
        span: { offset: this.#offset.get(index), length: this.#length.get(index) },
      }
    }
    return {
      requests: starts.length,
      rows: count,
      receivers: this.#receivers.size,
      reordered: order.some((index, at) => index !== at),
      withFiles: this.#withFiles,
      rowsOf: (request) => {
        const from = starts.get(request)
        const to = request + 1 < starts.length ? starts.get(request + 1) : count
        return Array.from({ length: to - from }, (_, position) => planned(from + position))
      },
    }
  }

  #identity(): Uint32Array {
    return new Uint32Array(this.#row.length).map((_, index) => index)
  }

  /** Groups in the order of their first rows, and the rows of each in the manifest's order: a counting sort. */
  #byGroup(): Uint32Array {
    const next = new Uint32Array(this.#groups.size + 1)
    for (let index = 0; index < this.#row.length; index++) {
      const after = this.#group.get(index) + 1
      next[after] = (next[after] ?? 0) + 1
    }
    for (let group = 1; group < next.length; group++) next[group] = (next[group] ?? 0) + (next[group - 1] ?? 0)
    const order = new Uint32Array(this.#row.length)
    for (let index = 0; index < this.#row.length; index++) {
      const group = this.#group.get(index)
      const at = next[group] ?? 0
      order[at] = index
      next[group] = at + 1
    }
    return order
  }
}
