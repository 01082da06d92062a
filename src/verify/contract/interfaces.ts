import { decodeNumber } from '../abi.ts'
import { type ContractCall, type ContractReader, problemOf, valueIn } from './contract-reader.ts'

/** Interfaces that gdn recognizes, by their ERC-165 IDs. */
const INTERFACES = {
  '80ac58cd': 'ERC-721',
  '5b5e139f': 'ERC-721 metadata',
  '780e9d63': 'ERC-721 enumerable',
  d9b67a26: 'ERC-1155',
  '0e89341c': 'ERC-1155 metadata URI',
  '36372b07': 'ERC-20',
  '2a55205a': 'ERC-2981 royalties',
  '49064906': 'ERC-4906 metadata updates',
  b45a3c0e: 'ERC-5192 locked tokens',
  ad092b5c: 'ERC-4907 rental',
  ad0d7f6c: 'ERC-721-C transfer validator',
  '7f5828d0': 'ERC-173 owner',
  '7965db0b': 'access control',
  '5a05180f': 'enumerable access control',
  '28f10a21': 'Manifold creator core',
  '48e2b093': 'ERC-2535 diamond',
} as const

export type InterfaceName = (typeof INTERFACES)[keyof typeof INTERFACES]
export type TokenStandard = 'erc721' | 'erc1155' | 'erc20'

export interface Interfaces {
  /**
   * `supported` means that the contract's answers follow ERC-165. `contradictory` means that they break a rule of
   * ERC-165, so they prove nothing. `not_supported` means that the contract doesn't answer.
   */
  erc165: 'supported' | 'contradictory' | 'not_supported'
  /** The interfaces that the contract claims, even if its answers can't be trusted. */
  claimed: InterfaceName[]
  /**
   * The standard whose functions the contract implements. If there are several such standards, the claims decide
   * between ERC-721 and ERC-1155. Null if neither the functions nor the claims determine the standard.
   */
  standard: TokenStandard | null
  /** The reasons why the answers can't be trusted, as sentences without a final period. */
  contradictions: string[]
  /** The reason why the contract doesn't answer `supportsInterface`, or null. */
  problem: string | null
}

/** An address that contracts don't treat specially. */
export const ORDINARY_ADDRESS = '1'.repeat(40)

const supportsInterface = (id: string): ContractCall<boolean> => ({
  signature: 'supportsInterface(bytes4)',
  args: [id.padEnd(64, '0')],
  decode: (data) => {
    const value = decodeNumber(data)
    return value === 0n || value === 1n ? value === 1n : null
  },
})

const number = (signature: string, ...args: readonly (bigint | string)[]): ContractCall<bigint> => ({
  signature,
  args,
  decode: decodeNumber,
})

/** Reads which interfaces a contract claims, and whether its functions confirm the claims. */
export async function readInterfaces(reader: ContractReader): Promise<Interfaces> {
  const ids = Object.keys(INTERFACES) as (keyof typeof INTERFACES)[]
  const [[erc165, never, ...answers], functions, unknown] = await Promise.all([
    reader.ask([supportsInterface('01ffc9a7'), supportsInterface('ffffffff'), ...ids.map(supportsInterface)]),
    reader.ask([
      number('balanceOf(address)', ORDINARY_ADDRESS),
      number('balanceOf(address,uint256)', ORDINARY_ADDRESS, 0n),
      number('totalSupply()'),
      number('decimals()'),
      number('isApprovedForAll(address,address)', ORDINARY_ADDRESS, ORDINARY_ADDRESS),
    ]),
    // No contract has this function. If a contract answers the call, its fallback answers all calls.
    reader.ask([{ signature: 'gdn_function_that_does_not_exist()', decode: String }]),
  ])
  const claimed = ids.filter((_, at) => valueIn(answers[at]) === true).map((id) => INTERFACES[id])
  const contradictions: string[] = []
  if (valueIn(unknown[0]) !== null)
    contradictions.push('it responds to functions that do not exist, so its responses prove nothing')
  if (valueIn(never) === true)
    contradictions.push('it claims to support the interface 0xffffffff, which ERC-165 forbids')
  if (valueIn(erc165) !== true && claimed.length > 0) {
    contradictions.push(`it claims to support ${claimed[0]}, but not ERC-165 itself`)
  }
  const answersAll = contradictions.length === 0
  const standards = standardsOf(functions.map(valueIn))
  contradictions.push(...listUnconfirmed(claimed, standards))
  const [first, ...otherStandards] = standards
  return {
    erc165: valueIn(erc165) === null ? 'not_supported' : answersAll ? 'supported' : 'contradictory',
    claimed,
    standard: otherStandards.length === 0 ? (first ?? null) : standardOfClaims(claimed),
    contradictions,
    problem: erc165 === undefined ? 'has no response' : problemOf(erc165),
  }
}

/** Returns the standards whose functions a contract implements. */
function standardsOf([balance, balanceOfToken, supply, decimals, approved]: readonly (
  | bigint
  | null
)[]): TokenStandard[] {
  const standards: TokenStandard[] = []
  if (balanceOfToken != null && approved != null) standards.push('erc1155')
  if (balance != null && approved != null && decimals == null) standards.push('erc721')
  if (balance != null && supply != null && decimals != null) standards.push('erc20')
  return standards
}

function standardOfClaims(claimed: readonly InterfaceName[]): TokenStandard | null {
  const is721 = claimed.includes('ERC-721')
  return is721 === claimed.includes('ERC-1155') ? null : is721 ? 'erc721' : 'erc1155'
}

/** Returns the claimed standards whose functions the contract doesn't implement. */
function listUnconfirmed(claimed: readonly InterfaceName[], standards: readonly TokenStandard[]): string[] {
  const contradictions: string[] = []
  if (claimed.includes('ERC-721') && claimed.includes('ERC-1155'))
    contradictions.push('it claims to support both ERC-721 and ERC-1155')
  if (claimed.includes('ERC-721') && !standards.includes('erc721')) {
    contradictions.push(
      'it claims to support ERC-721, but does not implement balanceOf(address) and isApprovedForAll correctly',
    )
  }
  if (claimed.includes('ERC-1155') && !standards.includes('erc1155')) {
    contradictions.push(
      'it claims to support ERC-1155, but does not implement balanceOf(address,uint256) and isApprovedForAll correctly',
    )
  }
  return contradictions
}
