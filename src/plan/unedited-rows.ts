import { fileFieldName } from '../batch/rows/field-changes.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { recordedRow } from '../state/row-outcomes.ts'
import type { RowRecord } from '../state/rows.ts'
import type { NftChange } from './compare.ts'
import type { Candidate } from './find-nfts.ts'

/**
 * Counts the rows of a page that need a change, although their content matches the last recorded content. The file at a
 * path may have changed, so differences in local files count only if the metadata was changed afterwards.
 */
export async function countUnedited(
  { state, drop, id }: StoredRun,
  page: readonly RowRecord[],
  candidates: readonly Candidate[],
  changed: readonly [number, readonly NftChange[]][],
): Promise<number> {
  if (drop.setId === null) return 0
  const changing = candidates.flatMap(({ nftGdnId, row, sent }, at) => {
    const files = new Set(row.row.localFiles.map(({ key }) => fileFieldName(key)))
    const isChanging = changed[at]?.[1].some(
      ({ action, fields, revision }) =>
        (action === 'update' || action === 'transfer') &&
        ((revision ?? 0) > (sent?.knownRevision ?? 0) || fields.some(({ field }) => !files.has(field))),
    )
    return nftGdnId !== null && isChanging === true ? [{ nftGdnId, body: page[at]?.body }] : []
  })
  if (changing.length === 0) return 0
  return await state.read(
    (sql) =>
      changing.filter(({ nftGdnId, body }) => {
        const recorded = recordedRow(sql, id, nftGdnId)
        return recorded !== null && body !== undefined && Buffer.from(recorded).equals(Buffer.from(body))
      }).length,
  )
}
