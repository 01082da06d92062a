import { checksumAddress } from '../../api/address.ts'
import { plainCell } from './view.ts'

/** The names of token standards. */
export const STANDARDS = { erc721: 'ERC-721', erc1155: 'ERC-1155', erc20: 'ERC-20' }

/** Returns an address for display; null for none. */
export const shownAddress = (address: string | null): string | null =>
  address === null ? null : checksumAddress(address)

/** Formats a royalty: `5% to 0x…`, or `none`. */
export const royaltyText = ({ percent, receiver }: { percent: number; receiver: string }): string =>
  percent === 0 ? 'none' : `${percent}% to ${receiver}`

/** Maximum length of a text in a card, such as an image in a data URL. */
const MAX_TEXT = 400

/** Returns a value of a contract as a text that fits in a card. */
export function shortText(value: unknown): string {
  const text = plainCell(value)
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text
}
