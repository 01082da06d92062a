import { rowOfParts, splitRowText } from '../batch/rows/row-text.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { addDrifted, type DriftedReceiver } from '../state/plan-tables.ts'
import { recordedRow } from '../state/row-outcomes.ts'
import type { NftChange } from './compare.ts'
import type { MovedNft, OwnerHistory } from './find-nfts.ts'

/**
 * Records the previous receivers of rows whose NFTs were transferred by another user, such as a buyer on a marketplace.
 * The previous receiver is the one that this machine recorded last, or else the receiver of the mint.
 */
export async function addDriftedReceivers(
  { state, drop, id }: StoredRun,
  moved: readonly MovedNft[],
  histories: ReadonlyMap<number, OwnerHistory>,
  changed: ReadonlyMap<number, readonly NftChange[]>,
): Promise<void> {
  const otherMoves = moved.filter(({ candidate }) => histories.get(candidate.row.position)?.isOurs === false)
  if (otherMoves.length === 0) return
  const drifted = await state.read((sql) =>
    otherMoves.flatMap(({ candidate: { row }, nft }): DriftedReceiver[] => {
      const { position } = row
      const body = drop.setId === null ? null : recordedRow(sql, id, nft.nft_gdn_id)
      const was = body === null ? nft.minted_to : rowOfParts(splitRowText(body)).receiver
      const isOpen = changed.get(position)?.some(({ action }) => action === 'transfer') ?? false
      return typeof was === 'string' ? [{ position, was, now: row.row.receiver, isOpen }] : []
    }),
  )
  await state.scratch((sql) => {
    for (const receiver of drifted) addDrifted(sql, receiver)
  })
}
