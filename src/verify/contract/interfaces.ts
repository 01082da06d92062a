import { decodeNumber } from '../abi.ts'
import { type ContractCall, type ContractReader, problemOrNull, valueOrNull } from './contract-reader.ts'

/** Interfaces that gdn recognizes, by their ERC-165 IDs. */
const INTERFACE_NAMES = {
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

export type InterfaceName = (typeof INTERFACE_NAMES)[keyof typeof INTERFACE_NAMES]
export type TokenStandard = 'erc721' | 'erc1155' | 'erc20'

export interface Interfaces {
  /**
   * `supported` means that the contract's answers follow ERC-165. `contradictory` means that they break a rule of
   * ERC-165, so they prove nothing. `not_supported` means that the contract doesn't answer.
   */
  erc165: 'supported' | 'contradictory' | 'not_supported'
  /** The interfaces that the contract claims, even if its answers can't be trusted. */
  claimedInterfaces: InterfaceName[]
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

const numberCall = (signature: string, ...args: readonly (bigint | string)[]): ContractCall<bigint> => ({
  signature,
  args,
  decode: decodeNumber,
})

/** Reads which interfaces a contract claims, and whether its functions confirm the claims. */
export async function readInterfaces(reader: ContractReader): Promise<Interfaces> {
  const ids = Object.keys(INTERFACE_NAMES) as (keyof typeof INTERFACE_NAMES)[]
  const [[erc165, never, ...answers], functions, unknown] = await Promise.all([
    reader.call([supportsInterface('01ffc9a7'), supportsInterface('ffffffff'), ...ids.map(supportsInterface)]),
    reader.call([
      numberCall('balanceOf(address)', ORDINARY_ADDRESS),
      numberCall('balanceOf(address,uint256)', ORDINARY_ADDRESS, 0n),
      numberCall('totalSupply()'),
      numberCall('decimals()'),
      numberCall('isApprovedForAll(address,address)', ORDINARY_ADDRESS, ORDINARY_ADDRESS),
    ]),
    // No contract has this function. If a contract answers the call, its fallback answers all calls.
    reader.call([{ signature: 'gdn_function_that_does_not_exist()', decode: String }]),
  ])
  const claimedInterfaces = ids.filter((_, at) => valueOrNull(answers[at]) === true).map((id) => INTERFACE_NAMES[id])
  const contradictions: string[] = []
  if (valueOrNull(unknown[0]) !== null)
    contradictions.push('it responds to functions that do not exist, so its responses prove nothing')
  if (valueOrNull(never) === true)
    contradictions.push('it claims to support the interface 0xffffffff, which ERC-165 forbids')
  if (valueOrNull(erc165) !== true && claimedInterfaces.length > 0) {
    contradictions.push(`it claims to support ${claimedInterfaces[0]}, but not ERC-165 itself`)
  }
  const answersAll = contradictions.length === 0
  const standards = detectStandards(functions.map(valueOrNull))
  contradictions.push(...listUnconfirmed(claimedInterfaces, standards))
  const [first, ...otherStandards] = standards
  return {
    erc165: valueOrNull(erc165) === null ? 'not_supported' : answersAll ? 'supported' : 'contradictory',
    claimedInterfaces,
    standard: otherStandards.length === 0 ? (first ?? null) : selectClaimedStandard(claimedInterfaces),
    contradictions,
    problem: erc165 === undefined ? 'has no response' : problemOrNull(erc165),
  }
}

/** Returns the standards whose functions a contract implements. */
function detectStandards([balance, balanceOfToken, supply, decimals, approved]: readonly (
  | bigint
  | null
)[]): TokenStandard[] {
  const standards: TokenStandard[] = []
  if (balanceOfToken != null && approved != null) standards.push('erc1155')
  if (balance != null && approved != null && decimals == null) standards.push('erc721')
  if (balance != null && supply != null && decimals != null) standards.push('erc20')
  return standards
}

function selectClaimedStandard(claimed: readonly InterfaceName[]): TokenStandard | null {
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
