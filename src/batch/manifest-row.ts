import { GdnError } from '../core/errors.ts'
import { HashTable } from '../manifest/hash-table.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { addressKey } from '../operations/reconcile/owners.ts'
import type { RowRecord } from '../state/rows.ts'
import { rowKey } from './row-key.ts'
import { contentHash, copyHash, hashOfText, isCopyHashContent, partsOf, rowOfParts, rowTexts } from './row-text.ts'

/** A row as the run stores it. */
export interface KeptRow {
  key: string
  content: string
  position: number
  row: ManifestRow
}

/** A row that was minted before, and its NFT. */
export interface Adopted {
  row: KeptRow
  nftGdnId: string
}

/** Assigns keys to rows in the manifest's order. Equal rows get different numbers. */
export class RowNamer {
  readonly #ids = new HashTable()
  readonly #contents = new HashTable()
  /** Twins of rows whose content differs. A content that is its own twin is counted above: this table takes 25 MB. */
  readonly #twins = new HashTable()
  readonly #pairs = new HashTable()
  #groups = 0
  #position = 0

  /** Returns the row as it is stored, or null where an earlier row has the same `id`. */
  name(row: ManifestRow): RowRecord | null {
    const { line, id, receiver, sender, localFiles } = row
    if (id !== null && this.#ids.getOrAdd(id, 0) !== undefined) return null
    const { content: text, kept, to } = rowTexts(row)
    const content = hashOfText(text)
    const twin = isCopyHashContent(row) ? content : copyHash(row)
    const key = rowKey(id, content, id === null ? this.#contents.increment(content) : 1)
    const reference = id === null ? rowKey(null, twin, this.#copyOf(twin, content)) : key
    return {
      position: this.#position++,
      line,
      key,
      reference: reference === key ? null : reference,
      content,
      twin: twin === content ? null : twin,
      receivers: this.#groupOf(to, sender),
      receiver,
      sender,
      files: localFiles.length,
      body: Buffer.from(kept),
    }
  }

  /** Returns the number of a row among those with this twin; its content is already counted. */
  #copyOf(twin: string, content: string): number {
    const asContent = this.#contents.get(twin) ?? 0
    return asContent + (twin === content ? (this.#twins.get(twin) ?? 0) : this.#twins.increment(twin))
  }

  #groupOf(to: string, sender: string | null): number {
    const pair = sender === null ? to : `${to} ${addressKey(sender)}`
    const known = this.#pairs.getOrAdd(pair, this.#groups)
    return known ?? this.#groups++
  }
}

/** Restores the row of a record. @throws GdnError `data_dir` if the record is damaged */
export function keptRow({ position, line, key, content, receiver, sender, body }: RowRecord): KeptRow {
  const row: ManifestRow = { line, id: key.startsWith('id:') ? key.slice('id:'.length) : null, ...parse(body) }
  const isRight =
    contentHash(row) === content &&
    addressKey(receiver) === row.receiver &&
    (sender === null ? row.sender === null : addressKey(sender) === row.sender)
  if (!isRight) throw damaged()
  row.receiver = receiver
  row.sender = sender
  return { key, content, position, row }
}

function parse(body: Uint8Array): ReturnType<typeof rowOfParts> {
  try {
    return rowOfParts(partsOf(body))
  } catch {
    throw damaged()
  }
}

const damaged = () =>
  new GdnError('data_dir', 'the state is damaged: a stored row is unreadable', {
    hint: 'Run the batch from its manifest again. Rows that were sent are known and are not sent twice.',
  })
