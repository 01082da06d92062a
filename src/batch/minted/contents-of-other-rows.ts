import type { RepeatedRow } from '../../state/claims.ts'
import { isListDrop, isUnrevealed } from '../../state/drops.ts'
import type { RowLocation } from '../../state/rows.ts'
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
  const lookup = await lookUpRows(run, { rows, positions: new Set(pending) }, { client, signal }, [...rowOf.keys()])
  if (!lookup.hasMatches) return
  const repeated: RepeatedRow[] = []
  for await (const found of lookup.findRows()) {
    const { key, row } = found.row
    const nft = found.match.id
    const owner = rowOf.get(nft)
    const isSame = owner !== undefined && hashRowContent(owner.row) === hashRowContent(row)
    if (isSame || (newRows === true && row.id !== null) || !hasOwnerOf(found)) continue
    repeated.push({ key, line: row.line, body: null, mintedKey: owner?.key ?? '', nft })
  }
  if (repeated.length > 0) throw repeatedRowsError(run.drop.name, repeated)
}
