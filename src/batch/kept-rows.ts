import { AddressTable } from './address-table.ts'
import { type IntegerColumn, integers, type OffsetColumn, offsets, Sequence } from './columns.ts'
import { WordTable } from './key-table.ts'
import { Spans } from './spans.ts'
import { FIRST_ROW } from './spool.ts'

/** What is known of the rows of a spool, by their line there (0 is the first). */
export interface KeptRows {
  readonly spans: Spans
  /** The row of the ledger. */
  readonly row: { get(line: number): number }
  /** Rows of one group, and no others, may travel together: they have one receiver and one sender. */
  readonly group: { get(line: number): number }
  readonly groupCount: number
  receiverOf(group: number): number
  /** Lines whose rows have local files. */
  readonly files: readonly number[]
}

/** Collects what is known of rows as they are read. */
export class RowCollector implements KeptRows {
  readonly spans = new Spans(FIRST_ROW)
  readonly row = new Sequence()
  readonly group = new Sequence()
  readonly files: number[] = []
  /** `contentNumber` of rows that have an id; 0, or nothing, for those that are named by their content. */
  readonly content: OffsetColumn = offsets()
  readonly #receivers = new AddressTable()
  readonly #senders = new AddressTable()
  /** Receiver and sender of each group, as soon as there is a sender; until then a group is its receiver. */
  #pairs: WordTable | null = null
  readonly #pair = new Uint32Array(2)
  #groupReceiver: IntegerColumn | null = null

  get groupCount(): number {
    return this.#pairs?.size ?? this.#receivers.size
  }

  /** The receiver of each group; null where a group is its receiver. */
  get groupReceiver(): IntegerColumn | null {
    return this.#groupReceiver
  }

  receiverOf(group: number): number {
    return this.#groupReceiver?.get(group) ?? group
  }

  /** Takes the receivers of rows that `add` is to take next. */
  readReceivers(receivers: readonly string[]): void {
    this.#receivers.read(receivers)
  }

  /**
   * @param content 0 for a row that is named by it
   * @param length of its line in the spool
   * @param receiver its place among those that were read last
   */
  add(row: number, length: number, content: number, receiver: number, sender: string | null): void {
    if (content !== 0) this.content.set(this.row.length, content)
    this.row.push(row)
    this.spans.push(length)
    this.group.push(this.#groupOf(receiver, sender))
  }

  #groupOf(receiver: number, sender: string | null): number {
    const known = this.#receivers.size
    const to = this.#receivers.addRead(receiver)
    if (this.#pairs === null) {
      if (sender === null) return to
      this.#pairs = new WordTable(2)
      this.#groupReceiver = integers()
      for (let receiver = 0; receiver < known; receiver++) this.#addPair(receiver, 0)
    }
    return this.#addPair(to, sender === null ? 0 : this.#senders.add(sender) + 1)
  }

  #addPair(receiver: number, sender: number): number {
    this.#pair[0] = receiver
    this.#pair[1] = sender
    const group = this.#pairs?.add(this.#pair) ?? 0
    this.#groupReceiver?.set(group, receiver)
    return group
  }
}
