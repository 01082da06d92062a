import type { ManifestRow } from '../manifest/row.ts'
import { AddressTable } from './address-table.ts'
import { Sequence } from './columns.ts'
import { WordTable } from './key-table.ts'
import type { Span } from './lines.ts'
import type { Spans } from './spans.ts'

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
  readonly #receivers = new AddressTable()
  readonly #senders = new AddressTable()
  /** Receiver and sender of each group, as soon as there is a sender; until then a group is its receiver. */
  #pairs: WordTable | null = null
  readonly #pair = new Uint32Array(2)
  readonly #row = new Sequence()
  readonly #group = new Sequence()
  readonly #line = new Sequence()
  readonly #spans: Spans
  readonly #withFiles: PlannedRow[] = []

  /** @param spans where the rows stand in the spool */
  constructor(spans: Spans) {
    this.#spans = spans
  }

  /** @param line which line of the spool it is */
  add(row: number, line: number, { receiver, sender, localFiles }: ManifestRow): void {
    this.#row.push(row)
    this.#group.push(this.#groupOf(receiver, sender))
    this.#line.push(line)
    if (localFiles.length > 0) this.#withFiles.push({ row, span: this.#spans.get(line) })
  }

  plan(chunkSize: number, inOrder: boolean): Plan {
    const count = this.#row.length
    // Without an order of their own, rows go as they came.
    const order = inOrder || this.#group.isIdentity ? null : this.#byGroup()
    const indexAt = (at: number): number => (order === null ? at : (order[at] ?? 0))
    const starts = new Sequence()
    for (let at = 0, size = 0, before = -1; at < count; at++, size++) {
      const group = this.#group.get(indexAt(at))
      if (group !== before || size === chunkSize) {
        starts.push(at)
        size = 0
      }
      before = group
    }
    const planned = (at: number): PlannedRow => {
      const index = indexAt(at)
      return { row: this.#row.get(index), span: this.#spans.get(this.#line.get(index)) }
    }
    return {
      requests: starts.length,
      rows: count,
      receivers: this.#receivers.size,
      reordered: order !== null && isReordered(order),
      withFiles: this.#withFiles,
      rowsOf: (request) => {
        const from = starts.get(request)
        const to = request + 1 < starts.length ? starts.get(request + 1) : count
        return Array.from({ length: to - from }, (_, position) => planned(from + position))
      },
    }
  }

  get #groupCount(): number {
    return this.#pairs?.size ?? this.#receivers.size
  }

  #groupOf(receiver: string, sender: string | null): number {
    const known = this.#receivers.size
    const to = this.#receivers.add(receiver)
    if (this.#pairs === null) {
      if (sender === null) return to
      this.#pairs = new WordTable(2)
      for (let receiver = 0; receiver < known; receiver++) this.#addPair(this.#pairs, receiver, 0)
    }
    return this.#addPair(this.#pairs, to, sender === null ? 0 : this.#senders.add(sender) + 1)
  }

  #addPair(pairs: WordTable, receiver: number, sender: number): number {
    this.#pair[0] = receiver
    this.#pair[1] = sender
    return pairs.add(this.#pair)
  }

  /** Groups in the order of their first rows, and the rows of each in the manifest's order: a counting sort. */
  #byGroup(): Uint32Array {
    const next = new Uint32Array(this.#groupCount + 1)
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

function isReordered(order: Uint32Array): boolean {
  for (let at = 0; at < order.length; at++) if (order[at] !== at) return true
  return false
}
