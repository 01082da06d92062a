import type { ManifestRow } from '../manifest/row.ts'
import { rowKey } from '../manifest/row-key.ts'
import { integers } from './columns.ts'
import { KeyTable } from './key-table.ts'

// 80 bits: among a million rows two different ones meet with a chance of 4e-13.
const CONTENT_DIGITS = 20

const EVM = /^0x[0-9a-fA-F]{40}$/

/** Addresses that differ only in the case of their checksum are one. */
export function addressKey(address: string): string {
  return EVM.test(address) ? address.toLowerCase() : address
}

/** What a row says, as a short hash: NFT, receiver, sender and the paths of its files. Not its line, not its id. */
export function contentHash(row: ManifestRow): string {
  const key = rowKey({ ...row, id: null })
  return key.slice(key.indexOf(':') + 1).slice(0, CONTENT_DIGITS)
}

/** What a row is known by: `id:` and its id, or `row:` and its content with the number of the copy. */
export type RowKey = string

/** The key as people and results see it. */
export function shownKey(key: RowKey): string {
  return key.slice(key.indexOf(':') + 1)
}

/** Gives the rows of one pass over a manifest their keys. Equal rows without an id are copies: `…`, `…#2`, `…#3`. */
export class RowKeys {
  readonly #contents = new KeyTable()
  readonly #copies = integers()

  next(row: ManifestRow, content: string): RowKey {
    if (row.id !== null) return `id:${row.id}`
    const index = this.#contents.add(content)
    const copy = this.#copies.get(index) + 1
    this.#copies.set(index, copy)
    return copy === 1 ? `row:${content}` : `row:${content}#${copy}`
  }
}
