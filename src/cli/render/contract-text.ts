import { checksumAddress } from '../../api/address.ts'
import { shorten } from '../../core/shorten.ts'
import { plainCell } from './view.ts'

/** The names of token standards. */
export const STANDARDS = { erc721: 'ERC-721', erc1155: 'ERC-1155', erc20: 'ERC-20' }

/** Returns an address in its displayed form; null if there is none. */
export const shownAddress = (address: string | null): string | null =>
  address === null ? null : checksumAddress(address)

/** Formats a royalty, such as `5% to 0x…`, or returns `none`. */
export const royaltyText = ({ percent, receiver }: { percent: number; receiver: string }): string =>
  percent === 0 ? 'none' : `${percent}% to ${receiver}`

/** Maximum length of a text in a card. An image in a data URL, for example, is longer. */
const MAX_TEXT_CHARACTERS = 400

/** Converts a value of a contract to text that fits into a card. */
export function shortText(value: unknown): string {
  const text = plainCell(value)
  return shorten(text, MAX_TEXT_CHARACTERS, `… (${text.length} characters)`)
}
