import { checksumAddress } from '../../api/address.ts'

/** The names of token standards. */
export const STANDARDS = { erc721: 'ERC-721', erc1155: 'ERC-1155', erc20: 'ERC-20' }

/** Returns an address for display; null for none. */
export const shownAddress = (address: string | null): string | null =>
  address === null ? null : checksumAddress(address)

/** Formats a royalty: `5% to 0x…`, or `none`. */
export const royaltyText = ({ percent, receiver }: { percent: number; receiver: string }): string =>
  percent === 0 ? 'none' : `${percent}% to ${receiver}`
