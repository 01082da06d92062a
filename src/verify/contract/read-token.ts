import { decodeAddress, decodeNumber, decodeString, splitWords } from '../abi.ts'
import {
  type CallOutcome,
  type ContractCall,
  type ContractReader,
  problemOrNull,
  valueOrNull,
} from './contract-reader.ts'
import { type Interfaces, readInterfaces } from './interfaces.ts'
import { nullIfZeroAddress, type Royalty, royaltyCall } from './read-contract.ts'
import { substituteId } from './token-uri.ts'

/** The data that a contract reports about one of its tokens at one block. A value is null if it can't be read. */
export interface TokenFacts {
  standard: 'erc721' | 'erc1155' | null
  /** The owner of an ERC-721 token, in lower case. ERC-1155 has no function for the owners of a token. */
  owner: string | null
  /** Token URI, in which the token ID replaces `{id}` (ERC-1155). */
  token_uri: string | null
  /** The number of ERC-1155 tokens with this ID. */
  total_supply: string | null
  max_supply: string | null
  royalty: Royalty | null
  /** Answers that contradict each other, as sentences without a final period. */
  contradictions: string[]
  /** The reasons why fields can't be read, by field. */
  not_readable: Record<string, string>
}

interface TokenReadings extends TokenFacts {
  /** Whether the token may exist: an ERC-1155 token must have a URI, and any other token must have an owner. */
  exists: boolean
  /** Whether the contract is a gdn collection, whose tokens may have a commitment. */
  isOfGdn: boolean
  interfaces: Interfaces
}

/**
 * Reads the maximum supply from `getTokenInfo` of Zora's ERC-1155 contracts, which returns a tuple of URI, maximum
 * supply and number of minted tokens.
 */
const zoraMaximumCall = (token: bigint): ContractCall<bigint> => ({
  signature: 'getTokenInfo(uint256)',
  args: [token],
  decode(data) {
    const [offset, , maximum] = splitWords(data) ?? []
    return offset !== undefined && BigInt(offset) === 32n && maximum !== undefined ? BigInt(maximum) : null
  },
})

/** Reads the data that a contract reports about a token. */
export async function readToken(reader: ContractReader, token: bigint): Promise<TokenReadings> {
  const args = [token]
  const number = (signature: string): ContractCall<bigint> => ({ signature, args, decode: decodeNumber })
  const uri = (signature: string): ContractCall<string> => ({ signature, args, decode: decodeString, isLarge: true })
  const ownerOf: ContractCall<string> = { signature: 'ownerOf(uint256)', args, decode: decodeAddress }
  const maxima = [number('maxTotalSupply(uint256)'), number('maxSupply(uint256)'), zoraMaximumCall(token)]
  const [interfaces, [owner], [tokenUri], [uri1155], [royalty], [supply, ...maximum], [state]] = await Promise.all([
    readInterfaces(reader),
    reader.call([ownerOf]),
    reader.call([uri('tokenURI(uint256)')]),
    reader.call([uri('uri(uint256)')]),
    reader.call([royaltyCall(token)]),
    reader.call([number('totalSupply(uint256)'), ...maxima]),
    reader.call([{ signature: 'metadataState(uint256)', args, decode: splitWords }]),
  ])
  const holder = nullIfZeroAddress(valueOrNull(owner))
  const standard = selectStandard(interfaces, holder)
  const not_readable: Record<string, string> = {}
  const take = <Value>(field: string, signature: string, answer: CallOutcome<Value> | undefined): Value | null => {
    const value = valueOrNull(answer)
    if (value === null)
      not_readable[field] = `${signature} ${answer === undefined ? 'has no response' : problemOrNull(answer)}`
    return value
  }
  const is721 = standard !== 'erc1155'
  if (is721) take('owner', ownerOf.signature, owner)
  const text = is721 ? take('token_uri', 'tokenURI(uint256)', tokenUri) : take('token_uri', 'uri(uint256)', uri1155)
  const total = is721 ? null : take('total_supply', 'totalSupply(uint256)', supply)
  const limits = maximum.map(valueOrNull).filter((limit) => limit !== null)
  if (!is721 && limits.length === 0) {
    not_readable.max_supply = `${maxima.map(({ signature }) => signature).join(', ')}: no response`
  }
  return {
    standard,
    owner: is721 ? holder : null,
    token_uri: text === null ? null : substituteId(text, token),
    total_supply: total?.toString() ?? null,
    max_supply: is721 ? null : (limits.find((limit) => limit > 0n)?.toString() ?? null),
    royalty: take('royalty', 'royaltyInfo(uint256,uint256)', royalty),
    contradictions: interfaces.contradictions,
    not_readable,
    exists: is721 ? holder !== null : text !== null,
    isOfGdn: valueOrNull(state) !== null,
    interfaces,
  }
}

function selectStandard({ standard, claimedInterfaces }: Interfaces, owner: string | null): TokenFacts['standard'] {
  if (standard === 'erc721' || standard === 'erc1155') return standard
  if (owner !== null) return 'erc721'
  return claimedInterfaces.includes('ERC-1155') ? 'erc1155' : null
}
