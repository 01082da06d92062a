import { isFileField } from '../batch/rows/field-changes.ts'
import { MAX_LISTED_ROWS } from '../batch/rows/max-listed-rows.ts'
import { formatKey } from '../batch/rows/row-key.ts'
import { GdnError } from '../core/errors.ts'
import type { NftChange } from './compare.ts'
import type { Candidate } from './find-nfts.ts'

/** Minimum number of matching rows for a refusal. If there are fewer, all of them may have been edited. */
const MIN_REFUSED = 5
/** Minimum share of NFTs whose content differs from their rows, for gdn to assume another drop. */
const REFUSED_SHARE = 0.9
/** Minimum share of NFTs whose content differs from their rows, for a note in the plan. */
const NOTED_SHARE = 0.5

/**
 * Determines whether the IDs of a manifest belong to another drop. Manifests with the same file name have the same
 * reference IDs in a collection. A machine that has minted neither drop distinguishes them by label or, if the labels
 * are equal, by content.
 */
export class OtherDrop {
  readonly #label: string | null
  /** Number of NFTs that match a row by ID. */
  #namedCount = 0
  /** Number of these NFTs whose content differs from the row's. */
  #otherContentCount = 0
  /**
   * Number of NFTs in `#otherContentCount` that have the label of this run. An equal label doesn't prove that the drop
   * is the same, because manifests at the roots of two repositories may have equal labels.
   */
  #sameContentCount = 0
  readonly #firstRows: { key: string; line: number; nft_gdn_id: string }[] = []

  /**
   * Creates the check for a plan.
   *
   * @param label the label of the run; null if the run has none
   */
  constructor(label: string | null) {
    this.#label = label
  }

  /** Adds a page of rows. Counts only rows that this machine has not minted. */
  add(candidates: readonly Candidate[], compared: readonly [number, readonly NftChange[]][]): void {
    for (const [at, { row, record, sent }] of candidates.entries()) {
      if (sent !== null || record === null || row.row.id === null) continue
      this.#namedCount++
      if (compared[at]?.[1].some((change) => hasOtherContent(change, row.row)) !== true) continue
      this.#otherContentCount++
      if (this.#label !== null && record.reference_label === this.#label) this.#sameContentCount++
      const { nft_gdn_id } = record
      if (this.#firstRows.length < MAX_LISTED_ROWS)
        this.#firstRows.push({ key: formatKey(row.key), line: row.row.line, nft_gdn_id })
    }
  }

  /**
   * Returns a note if many NFTs differ in content from their rows; null otherwise.
   *
   * @throws GdnError `seems_minted` if all or nearly all NFTs differ in content and don't have the label of this run
   */
  refuse(): string | null {
    const [nftCount, otherCount, unlike] = [
      this.#namedCount,
      this.#otherContentCount,
      this.#otherContentCount - this.#sameContentCount,
    ]
    const nfts = `${otherCount} of ${nftCount} NFTs that match rows by ID have a different title and different content`
    const isMost = nftCount >= MIN_REFUSED && otherCount >= nftCount * REFUSED_SHARE
    if (!isMost || unlike < nftCount * REFUSED_SHARE) {
      const isNoted = isMost || (unlike > 0 && unlike >= nftCount * NOTED_SHARE)
      return isNoted ? `${nfts}. If they belong to another drop with this file name, add --run <name>` : null
    }
    throw new GdnError('seems_minted', nfts, {
      hint: [
        'Nothing was sent. This machine has not minted from this manifest. The NFTs may have been minted from another manifest with this file name.',
        'If this is another drop, add --run <name>. gdn then mints its rows as separate NFTs.',
        'If the NFTs belong to these rows, and the rows were edited after their mint, add --adopt.',
      ].join('\n'),
      details: { rows: this.#firstRows, count: otherCount },
    })
  }
}

type Row = Candidate['row']['row']

/**
 * Returns whether the title of an NFT differs from its row's. If the row has a description or other files, one of these
 * must differ as well.
 */
function hasOtherContent({ want, fields }: NftChange, { metadata, localFiles }: Row): boolean {
  const changedFields = (test: (field: string) => boolean) => fields.some(({ field }) => test(field))
  if (want !== 'update' || !changedFields((field) => field === 'title')) return false
  const isPlain = metadata.description === '' && metadata.file_fields.length + localFiles.length === 0
  return isPlain || changedFields((field) => field === 'description' || isFileField(field))
}
