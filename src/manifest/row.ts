import type { Attribute } from '../api/traits.ts'
import type { Place } from '../core/errors.ts'

/** One NFT of a manifest, valid according to the API contract. Its local files are still paths. */
export interface ManifestRow {
  /**
   * For CSV, the number that a spreadsheet shows next to the row. The header is row 1, and a line break in a cell
   * doesn't start a new row. For JSON, the 1-based line of the file on which the object begins.
   */
  line: number
  /** The value of the column `id`, or null. */
  id: string | null
  receiver: string
  /** The normalized ENS name that the manifest contains instead of the receiver's address. */
  receiverName?: string | undefined
  /** If set, the row is sent with createnfttrans. */
  sender: string | null
  /** The normalized ENS name that the manifest contains instead of the sender's address. */
  senderName?: string | undefined
  /** Metadata for createnft. The URL of a local file is `''` until it is uploaded. */
  metadata: {
    title: string
    description: string
    file_fields: { key: string; url: string }[]
    attribute?: Attribute[] | undefined
    [extra: string]: unknown
  }
  /**
   * Local files, each with the key of its file field and the absolute path of the checked file. `sha256` is the
   * hexadecimal hash of a file that was uploaded earlier and may have changed since.
   */
  localFiles: { key: string; path: string; sha256?: string }[]
  /** The metadata and files that identify the row, if it is sent with different metadata. */
  identity?: Pick<ManifestRow, 'metadata' | 'localFiles'>
}

/** One problem of a manifest. */
export interface ManifestIssue {
  place: Place
  message: string
  hint?: string | undefined
}

/** A problem of a valid row that the command rejects. */
export interface RowProblem {
  /** The metadata key that has the problem, or null for the whole row. */
  key: string | null
  /** The problem, without the name of the key. */
  message: string
  hint: string
}

/** The known fields of a row with a problem, to show with the problem. */
export interface InvalidRow {
  line: number
  title: string | null
  /** The local files that exist, in the same form as in a row. */
  localFiles: ManifestRow['localFiles']
}

/** An item of a manifest, in the order of the file. Problems of the same row are adjacent. */
export type ManifestItem = { row: ManifestRow } | { issue: ManifestIssue; invalidRow?: InvalidRow }
