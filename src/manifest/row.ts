import type { Place } from '../core/errors.ts'

/** One NFT of a manifest, valid by the contract. Its local files are still paths. */
export interface ManifestRow {
  /**
   * For CSV, the number that a spreadsheet shows beside the row: the header is 1, and a cell of several lines is in one
   * row. For JSON, the 1-based line of the file on which the object begins.
   */
  line: number
  /** The column `id`, if given. */
  id: string | null
  receiver: string
  /** If set, the row is sent with createnfttrans. */
  sender: string | null
  /** Metadata for createnft. The file field of a local file has the URL `''` until the upload. */
  metadata: {
    title: string
    description: string
    file_fields: { key: string; url: string }[]
    attribute?: { tag: string; value: string }[] | undefined
    [extra: string]: unknown
  }
  /** Local files, by file field key: absolute paths of files that were checked. */
  localFiles: { key: string; path: string }[]
  /** The metadata and files that identify the row, if it is sent with other metadata. */
  identity?: Pick<ManifestRow, 'metadata' | 'localFiles'>
}

/** One problem of a manifest. */
export interface ManifestIssue {
  place: Place
  message: string
  hint?: string | undefined
}

/** The known fields of a row with a problem, to show beside the problem. */
export interface InvalidRow {
  line: number
  title: string | null
  /** Local files that exist, like those of a row. */
  localFiles: ManifestRow['localFiles']
}

/** An item of a manifest, in the order of the file. The problems of one row follow each other. */
export type ManifestItem = { row: ManifestRow } | { issue: ManifestIssue; invalidRow?: InvalidRow }
