import type { RepeatedRow } from '../../state/claims.ts'
import { isListDrop, isUnrevealed } from '../../state/drops.ts'
import type { RowLocation } from '../../state/rows.ts'
import { repeatedRowsError } from '../identity/repeated-rows.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { lookUpRows } from './earlier-mints.ts'
import { hasOwnerOf } from './lookup.ts'

/** An NFT that keeps its content although the row with its ID has other content. */
export interface DifferingNft {
  /** The key of the row. */
  key: string
  nftGdnId: string
}

/**
 * Throws if a row to be sent has the content of an NFT whose own row was edited. For example, another machine minted
 * row 2 with the content B, and now row 2 is X and row 3 is B. `refuseRepeated` does the same for NFTs that this machine
 * minted. With `newRows`, only rows without an ID are refused.
 *
 * @throws GdnError `edited_rows`
 */
export async function refuseContentsOfOtherRows(
  run: StoredRun,
  { newRows, signal }: Pick<BatchOptions, 'newRows' | 'signal'>,
  client: BatchClient,
  { rows, pending, nfts }: { rows: RowLocation; pending: Iterable<number>; nfts: readonly DifferingNft[] },
): Promise<void> {
  // The rows of a list, and of an unrevealed drop, have the same content.
  if (nfts.length === 0 || isListDrop(run.drop) || isUnrevealed(run.drop)) return
  const keys = new Map(nfts.map(({ nftGdnId, key }) => [nftGdnId, key]))
  const lookup = await lookUpRows(run, { rows, positions: new Set(pending) }, { client, signal }, [...keys.keys()])
  if (!lookup.hasMatches) return
  const repeated: RepeatedRow[] = []
  for await (const found of lookup.findRows()) {
    const { key, row } = found.row
    if ((newRows === true && row.id !== null) || !hasOwnerOf(found)) continue
    const nft = found.match.id
    repeated.push({ key, line: row.line, body: null, mintedKey: keys.get(nft) ?? '', nft })
  }
  if (repeated.length > 0) throw repeatedRowsError(run.drop.name, repeated)
}
