import { fileUrlProblem } from '../api/file-url.ts'
import { MAX_METADATA_ITEMS, nftMetadata } from '../api/metadata.ts'
import { type Validated, validate } from '../api/validate.ts'
import type { ManifestRow } from './row.ts'

type Metadata = ManifestRow['metadata']

const MAX_PLAIN_URL = 2048
const ORIGIN = /^https?:\/\/[\w.-]+(?::\d+)?\//i

/**
 * Checks metadata against the API contract. Recognizes most valid metadata of CSV rows without the schema, because the
 * schema costs more than reading the row.
 */
export class ContractCheck {
  /**
   * `https://host/` of the last valid URL. A URL with this prefix is valid too, unless its path contains white space or
   * a backslash.
   */
  #goodPrefix: string | null = null

  check(metadata: unknown): Validated<Metadata> {
    return validate(nftMetadata, metadata)
  }

  /**
   * Checks metadata whose keys were checked with the header, and whose text is well-formed and without NUL. This leaves
   * the number of items, the required values, and the URLs. The schema checks anything unusual.
   */
  checkTrusted(metadata: Metadata): Validated<Metadata> {
    return this.#isPlainlyGood(metadata) ? { ok: true, value: metadata } : this.check(metadata)
  }

  #isPlainlyGood(metadata: Metadata): boolean {
    const { title, description, file_fields, attribute } = metadata
    if (title === '' || typeof title !== 'string' || typeof description !== 'string') return false
    // Every member counts as one item. Instead of `file_fields`, each file counts, and `attribute` doesn't count.
    let items = file_fields.length - (attribute === undefined ? 1 : 2)
    for (const _ in metadata) items++
    if (items > MAX_METADATA_ITEMS) return false
    for (const { url } of file_fields) if (!this.#isGoodUrl(url)) return false
    return true
  }

  #isGoodUrl(url: string): boolean {
    const prefix = this.#goodPrefix
    if (prefix !== null && url.startsWith(prefix) && url.length <= MAX_PLAIN_URL && !/[\s\\]/.test(url)) return true
    if (fileUrlProblem(url) !== null) return false
    this.#goodPrefix = ORIGIN.exec(url)?.[0] ?? prefix
    return true
  }
}
