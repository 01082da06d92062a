/** The few contract calls that are needed to read holders. */

const word = (hex: string) => hex.padStart(64, '0')
const numberWord = (value: bigint) => word(value.toString(16))

/** Functions that return the data of a call. `owner` has 40 hex digits. */
export const CALLS = {
  supportsInterface: (id: string) => `0x01ffc9a7${id.padEnd(64, '0')}`,
  ownerOf: (token: bigint) => `0x6352211e${numberWord(token)}`,
  balanceOf: (owner: string) => `0x70a08231${word(owner)}`,
  balanceOfToken: (owner: string, token: bigint) => `0x00fdd58e${word(owner)}${numberWord(token)}`,
  totalSupply: () => '0x18160ddd',
  totalSupplyOf: (token: bigint) => `0xbd85b039${numberWord(token)}`,
  decimals: () => '0x313ce567',
}
