import type { ManifestChanges } from '../../batch/types.ts'
import { count } from '../../core/count.ts'

/**
 * Describes rows with an ID that were sent with other values, because the manifest or a flag such as --receiver was
 * changed later.
 *
 * @param plan the `gdn plan` command for the manifest, in backticks
 */
export const differingRowsText = (rows: number, plan: string): string =>
  `${count(rows, 'row')} ${rows === 1 ? 'was' : 'were'} already sent with different values and won't be sent again. To compare ${rows === 1 ? 'it with its NFT' : 'them with their NFTs'}, run ${plan}.`

/** The numbers of rows that were removed from the manifest. */
export type RemovedRows = Pick<ManifestChanges, 'removed' | 'removedUnsent' | 'removedFailed'>

/**
 * Describes rows that were removed from the manifest. Only sent rows that didn't fail have NFTs.
 *
 * @param plan as in `differingRowsText`
 */
export function removedTexts({ removed, removedUnsent: unsent, removedFailed: failed }: RemovedRows, plan: string) {
  const minted = removed - unsent - failed
  return [
    ...(minted > 0
      ? [
          `${count(minted, 'row')} ${minted === 1 ? 'is' : 'are'} no longer in the manifest. ${minted === 1 ? 'Its NFT is kept' : 'Their NFTs are kept'}. To show which NFTs have no row, run ${plan}.`,
        ]
      : []),
    ...(unsent > 0
      ? [
          unsent === 1
            ? "1 row was removed before it was sent and isn't minted."
            : `${unsent} rows were removed before they were sent and aren't minted.`,
        ]
      : []),
    ...(failed > 0
      ? [
          failed === 1
            ? '1 row was removed after it failed and has no NFT.'
            : `${failed} rows were removed after they failed and have no NFTs.`,
        ]
      : []),
  ]
}

/** Describes the NFTs of receivers that were removed from a list. */
export const removedReceiversText = (rows: number): string =>
  `${count(rows, 'NFT')} of the run ${rows === 1 ? 'is' : 'are'} for receivers that are no longer in the list. Minted NFTs are kept, and the others are not minted.`
