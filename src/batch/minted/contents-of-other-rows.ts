import type { RepeatedRow } from '../../state/claims.ts'
import { isListDrop, isUnrevealed } from '../../state/drops.ts'
import { assignedNfts } from '../../state/known-nfts.ts'
import { addedRows, type RowLocation } from '../../state/rows.ts'
import { repeatedRowsError } from '../identity/repeated-rows.ts'
import type { AdoptedRow } from '../rows/manifest-row.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { lookUpRows } from './earlier-mints.ts'
import { hashRowContent, hasOwnerOf } from './lookup.ts'

/**
 * Throws if a row to be sent has the content of an NFT whose own row was edited. For example, another machine minted
 * row 2 with the content B, and now row 2 is X and row 3 is B. `refuseRepeated` does the same for NFTs that this
 * machine minted. With `newRows`, only rows without an ID are refused.
 *
 * @param existing rows with NFTs. A row whose content is the content of its NFT doesn't count
 * @throws GdnError `edited_rows`
 */
export async function refuseContentsOfOtherRows(
  run: StoredRun,
  { newRows, signal }: Pick<BatchOptions, 'newRows' | 'signal'>,
  client: BatchClient,
  { rows, pending, existing }: { rows: RowLocation; pending: Iterable<number>; existing: readonly AdoptedRow[] },
): Promise<void> {
  // The rows of a list, and of an unrevealed drop, have the same content.
  if (existing.length === 0 || isListDrop(run.drop) || isUnrevealed(run.drop)) return
  const rowOf = new Map(existing.map(({ nftGdnId, row }) => [nftGdnId, row]))
  const ids = [...rowOf.keys()]
  const positions = await newPositions(run, rows, pending)
  const lookup = await lookUpRows(run, { rows, positions }, { client, signal }, ids)
  if (!lookup.hasMatches) return
  const recorded = await run.read((sql) => assignedNfts(sql, ids))
  const repeated: RepeatedRow[] = []
  for await (const found of lookup.findRows()) {
    const { key, row } = found.row
    const nft = found.match.id
    const owner = rowOf.get(nft)
    const isSame = owner !== undefined && hashRowContent(owner.row) === hashRowContent(row)
    // `refuseRepeated` has compared the files with those of the NFTs that this machine recorded.
    const hasOtherFiles = row.localFiles.length > 0 && recorded.has(nft)
    if (isSame || hasOtherFiles || (newRows === true && row.id !== null) || !hasOwnerOf(found)) continue
    repeated.push({ key, line: row.line, body: null, mintedKey: owner?.key ?? '', nft })
  }
  if (repeated.length > 0) throw repeatedRowsError(run.drop.name, repeated)
}

/** Returns the positions of the pending rows that the run hasn't stored yet. Stored rows have passed the check. */
async function newPositions(run: StoredRun, rows: RowLocation, pending: Iterable<number>): Promise<Set<number>> {
  const positions = new Set(pending)
  if (run.drop.setId === null) return positions
  const added = await run.read((sql) => addedRows(sql, rows, run.drop))
  return new Set(added.flatMap(({ position }) => (positions.has(position) ? position : [])))
}
