import { count } from '../../core/count.ts'

/**
 * Describes rows with an ID that were sent with other values, because the manifest or a flag such as --receiver was
 * changed later.
 *
 * @param plan the `gdn plan` command for the manifest, in backticks
 */
export const differingRowsText = (rows: number, plan: string): string =>
  `${count(rows, 'row')} ${rows === 1 ? 'was' : 'were'} already sent with different values and won't be sent again. To compare ${rows === 1 ? 'it with its NFT' : 'them with their NFTs'}, run ${plan}.`

/**
 * Describes rows that were removed from the manifest.
 *
 * @param plan as in `differingRowsText`
 */
export const removedText = (rows: number, plan: string): string =>
  `${count(rows, 'row')} ${rows === 1 ? 'is' : 'are'} no longer in the manifest. ${rows === 1 ? 'Its NFT is kept' : 'Their NFTs are kept'}. To show which NFTs have no row, run ${plan}.`

/** Describes the NFTs of receivers that were removed from a list. */
export const removedReceiversText = (rows: number): string =>
  `${count(rows, 'NFT')} of the run ${rows === 1 ? 'is' : 'are'} for receivers that are no longer in the list. Minted NFTs are kept, and the others are not minted.`
