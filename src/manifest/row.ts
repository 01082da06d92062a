import type { Place } from '../core/errors.ts'

/** One NFT of a manifest, valid by the contract, its local files still paths. */
export interface ManifestRow {
  /**
   * Of CSV the number that a spreadsheet shows beside the row, where the header is 1 and a cell of several lines makes
   * one row. Of JSON the 1-based line of the file on which the object begins.
   */
  line: number
  /** The column `id`, if given. */
  id: string | null
  receiver: string
  /** When given, the row goes by createnfttrans. */
  sender: string | null
  /** As createnft takes it; a file field whose file is local has the url `''` until it was uploaded. */
  metadata: {
    title: string
    description: string
    file_fields: { key: string; url: string }[]
    attribute?: { tag: string; value: string }[] | undefined
    [extra: string]: unknown
  }
  /** Local files, by file field key: absolute paths, already seen to exist and be regular files. */
  localFiles: { key: string; path: string }[]
}

/** One problem of a manifest. */
export interface ManifestIssue {
  place: Place
  message: string
  hint?: string
}

/** What is known of a row with a problem, to show it beside the problem. */
export interface InvalidRow {
  line: number
  title: string | null
  /** Local files that are there, as those of a row. */
  localFiles: ManifestRow['localFiles']
}

/** What reading a manifest gives, in the order of the file. The problems of one row follow each other. */
export type ManifestItem = { row: ManifestRow } | { issue: ManifestIssue; invalidRow?: InvalidRow }
