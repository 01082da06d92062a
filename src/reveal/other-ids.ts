import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed } from '../api/nft-status.ts'
import type { BatchOptions } from '../batch/types.ts'
import { PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import { listIds, type RecordSource, readPages } from '../operations/reconcile/listing.ts'
import { movedRowsError } from './moved-rows-error.ts'
import { findLeavesUrl, parseSha256InUrl } from './provenance-in.ts'

/** A row of an unrevealed drop for which no NFT has the row's ID. */
export interface RowWithoutNft {
  /** The position of the row in the manifest, from 0. */
  position: number
  line: number
}

/** The slots of an unrevealed drop. If the drop isn't shuffled, a row's slot is its number. */
interface Slots {
  provenance: string
  /** Returns the slot of a revealed NFT, from 1; null for an NFT of another drop. */
  slotOf(metadata: unknown): number | null
}

/**
 * Refuses rows without an NFT whose slots are already minted. Their IDs were changed after the mint, so gdn can't find
 * the NFTs and would treat the rows as abandoned. Lists the collection unless `rows` is empty.
 *
 * @throws GdnError `edited_rows`, and errors of the server
 */
export async function refuseOtherIds(
  source: RecordSource,
  options: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'manifestPath'>,
  rows: readonly RowWithoutNft[],
  slots: Slots,
): Promise<void> {
  const changed = await mintedSlots(source, options, rows, slots)
  if (changed.length === 0) return
  throw movedRowsError('edited_rows', 'IDs of the shuffled drop were changed after the mint', {
    file: options.manifestPath,
    rows: changed,
    hint: 'Nothing was sent. Restore the IDs, because gdn finds the NFT of a row only by its ID. To mint more rows, use another manifest.',
  })
}

/**
 * Returns the rows without an NFT whose slots are already minted, in order. Lists the collection unless `rows` is
 * empty.
 */
export async function mintedSlots(
  source: RecordSource,
  options: Pick<BatchOptions, 'contractAddress' | 'blockchain'>,
  rows: readonly RowWithoutNft[],
  slots: Slots,
): Promise<{ slot: number; line: number }[]> {
  if (rows.length === 0) return []
  const lines = new Map(rows.map(({ position, line }) => [position + 1, line]))
  const minted = new Set<number>()
  for await (const { nfts } of readPages(source, [...(await listIds(source, options))])) {
    for (const nft of nfts) {
      const slot = slotIn(nft, slots)
      if (slot !== null && lines.has(slot)) minted.add(slot)
    }
  }
  return [...minted].sort((a, b) => a - b).map((slot) => ({ slot, line: lines.get(slot) ?? 0 }))
}

function slotIn({ status, request_metadata: metadata }: NftRecord, { provenance, slotOf }: Slots): number | null {
  if (hasFailed(status)) return null
  const leaves = findLeavesUrl(metadata)
  if (leaves === undefined) return slotOf(metadata)
  return parseSha256InUrl(leaves) === provenance.slice(2) ? Number(Object(metadata)[PROVENANCE_ROW]) : null
}
