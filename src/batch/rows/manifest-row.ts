import { GdnError } from '../../core/errors.ts'
import { HashTable } from '../../manifest/hash-table.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { RowRecord } from '../../state/rows.ts'
import { rowKey } from './row-key.ts'
import {
  contentHash,
  copyHash,
  formatParties,
  hashContentText,
  hasNames,
  isCopyHashContent,
  parseRowParts,
  rowTexts,
  splitRowText,
  withoutNames,
} from './row-text.ts'

/** A row as the run stores it. */
export interface StoredRow {
  key: string
  content: string
  position: number
  row: ManifestRow
  /** See `RowRecord.plain`. */
  plain?: string | null | undefined
}

/** A row that is already minted, with its NFT. */
export interface AdoptedRow {
  row: StoredRow
  nftGdnId: string
}

/** Assigns keys to rows in the manifest's order. Equal rows get different copy numbers. */
export class RowNamer {
  readonly #ids = new HashTable()
  readonly #contents = new HashTable()
  /**
   * Counts the portable hashes that differ from the content hash. `#contents` counts the others, because a second table
   * for all rows would use up to 25 MB.
   */
  readonly #portables = new HashTable()
  readonly #pairs = new HashTable()
  #groupCount = 0
  #position = 0

  /** Returns the record to store, or null if an earlier row has the same `id`. */
  name(row: ManifestRow): RowRecord | null {
    const { line, id, localFiles } = row
    if (id !== null && this.#ids.getOrAdd(id, 0) !== undefined) return null
    const { content: text, kept, parties } = rowTexts(row)
    const content = hashContentText(text)
    const identified = row.identity === undefined ? row : { ...row, ...row.identity }
    const namedContent = identified === row ? content : contentHash(identified)
    const portable = isCopyHashContent(identified) ? namedContent : copyHash(identified)
    const copy = id === null ? this.#contents.increment(namedContent) : 1
    const key = rowKey(id, namedContent, copy)
    const reference = id === null ? rowKey(null, portable, this.#copyOf(portable, namedContent, copy)) : key
    return {
      position: this.#position++,
      line,
      key,
      reference: reference === key ? null : reference,
      content,
      portable: portable === content ? null : portable,
      plain: addressContentHash(identified),
      receivers: this.#groupOf(parties),
      files: localFiles.length,
      body: Buffer.from(kept),
    }
  }

  /** Returns whether any row without a sender has this address as its receiver. Doesn't count rows with an ENS name. */
  hasReceiver(address: string): boolean {
    return this.#pairs.has(formatParties({ receiver: address, sender: null }))
  }

  /**
   * Returns the row's copy number among rows with the same portable hash. `copy` is its number among rows with the same
   * content.
   */
  #copyOf(portable: string, content: string, copy: number): number {
    if (portable !== content) return (this.#contents.get(portable) ?? 0) + this.#portables.increment(portable)
    return copy + (this.#portables.get(portable) ?? 0)
  }

  #groupOf(parties: string): number {
    const group = this.#pairs.getOrAdd(parties, this.#groupCount)
    return group ?? this.#groupCount++
  }
}

/**
 * Returns the `copyHash` of the row without its ENS names. Returns null for a row without ENS names, because its own
 * `copyHash` is the same.
 */
export const addressContentHash = (row: ManifestRow): string | null =>
  hasNames(row) ? copyHash(withoutNames(row)) : null

/**
 * Restores a row from its record.
 *
 * @throws GdnError `data_dir` if the record is damaged
 */
export function parseStoredRow({ position, line, key, content, plain, body }: RowRecord): StoredRow {
  const row: ManifestRow = { line, id: key.startsWith('id:') ? key.slice('id:'.length) : null, ...parse(body) }
  if (contentHash(row) !== content) throw damagedStateError()
  return { key, content, position, row, plain }
}

function parse(body: Uint8Array): ReturnType<typeof parseRowParts> {
  try {
    return parseRowParts(splitRowText(body))
  } catch {
    throw damagedStateError()
  }
}

const damagedStateError = () =>
  new GdnError('data_dir', 'the state is damaged: a stored row is unreadable', {
    hint: 'Run `gdn batch mint` with the manifest again. gdn does not send any row twice.',
  })
