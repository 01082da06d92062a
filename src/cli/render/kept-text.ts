import { count } from '../../core/count.ts'

/** Describes rows with an ID that were edited after they were sent. */
export const keptText = (rows: number): string =>
  `${count(rows, 'changed row')} ${rows === 1 ? 'was' : 'were'} already sent and won't be sent again. Run \`gdn plan\` to compare ${rows === 1 ? 'it with its NFT' : 'them with their NFTs'}.`
