import { decodeAddress, decodeAddresses, decodeNumber, decodeString, splitWords } from '../abi.ts'
import {
  type CallOutcome,
  type ContractCall,
  type ContractReader,
  problemOrNull,
  valueOrNull,
} from './contract-reader.ts'
import { type InterfaceName, type Interfaces, readInterfaces, type TokenStandard } from './interfaces.ts'
import { type ProxyFacts, readProxy } from './proxy.ts'
import { type Role, readRoles } from './roles.ts'

/** An ERC-2981 royalty. */
export interface Royalty {
  /** Royalty in percent of the sale price. */
  percent: number
  /** Address of the receiver in lower case. */
  receiver: string
}

/** The data that a contract reports about itself at one block. A value is null if it can't be read. */
export interface ContractFacts {
  name: string | null
  symbol: string | null
  standard: TokenStandard | null
  erc165: Interfaces['erc165']
  interfaces: InterfaceName[]
  code_bytes: number
  proxy: ProxyFacts | null
  owner: string | null
  pending_owner: string | null
  roles: Role[] | null
  /** Admins of Manifold's contracts. */
  admins: string[] | null
  royalty: Royalty | null
  /**
   * ID of the token whose royalty was read. It is a token that has an owner or that `tokenByIndex` returns, or else
   * token 1. Null if there is no royalty.
   */
  royalty_token: string | null
  total_supply: string | null
  max_supply: string | null
  /** The function that returned the maximum supply. */
  max_supply_function: string | null
  contract_uri: string | null
  transfer_validator: string | null
  /** Answers that contradict each other, as sentences without a final period. */
  contradictions: string[]
  /** The reasons why fields can't be read, by field. */
  not_readable: Record<string, string>
}

/** Functions that return the maximum number of tokens. */
const MAX_SUPPLY_FUNCTIONS = ['maxSupply()', 'MAX_SUPPLY()', 'maxTotalSupply()', 'cap()']

/** The sale price for which royalties are requested. For this price, royalties are in basis points. */
const SAMPLE_PRICE = 10_000n

const textCall = (signature: string): ContractCall<string> => ({ signature, decode: decodeString })
const addressCall = (signature: string): ContractCall<string> => ({ signature, decode: decodeAddress })
const numberCall = (signature: string): ContractCall<bigint> => ({ signature, decode: decodeNumber })

export const royaltyCall = (token: bigint): ContractCall<Royalty> => ({
  signature: 'royaltyInfo(uint256,uint256)',
  args: [token, SAMPLE_PRICE],
  decode(data) {
    const [receiver, amount, ...extraWords] = splitWords(data) ?? []
    const receiverAddress = receiver === undefined ? null : decodeAddress(receiver)
    if (receiverAddress === null || amount === undefined || extraWords.length > 0) return null
    return { receiver: receiverAddress, percent: Number(BigInt(amount)) / 100 }
  },
})

/** Collects values, and the reasons why other values can't be read. */
class FieldCollector {
  readonly unreadableReasons: Record<string, string> = {}

  take<Value>(field: string, { signature }: ContractCall<Value>, answer: CallOutcome<Value> | undefined): Value | null {
    const value = valueOrNull(answer)
    if (value === null)
      this.unreadableReasons[field] = `${signature} ${answer === undefined ? 'has no response' : problemOrNull(answer)}`
    return value
  }
}

/**
 * Reads the data that a contract reports about itself.
 *
 * @param code the contract's code, which must not be empty
 */
export async function readContract(reader: ContractReader, code: string): Promise<ContractFacts> {
  const facts = new FieldCollector()
  const [interfaces, proxy, roles, answers] = await Promise.all([
    readInterfaces(reader),
    readProxy(reader, code),
    readRoles(reader),
    readFields(reader, facts),
  ])
  const { supplies, ...fields } = answers
  if (interfaces.problem !== null)
    facts.unreadableReasons.interfaces = `supportsInterface(bytes4) ${interfaces.problem}`
  if ('problem' in roles) facts.unreadableReasons.roles = roles.problem
  if (proxy?.problem != null) facts.unreadableReasons.implementation = proxy.problem
  const max = selectMaxSupply(supplies, facts)
  const contradictions = [
    ...interfaces.contradictions,
    ...findContradictions({ ...fields, ...max }, interfaces.claimedInterfaces),
  ]
  return {
    ...fields,
    ...max,
    standard: interfaces.standard,
    erc165: interfaces.erc165,
    interfaces: interfaces.claimedInterfaces,
    code_bytes: (code.length - 2) / 2,
    proxy,
    roles: 'roles' in roles ? roles.roles : null,
    contradictions,
    not_readable: facts.unreadableReasons,
  }
}

async function readFields(reader: ContractReader, facts: FieldCollector) {
  const calls = {
    name: textCall('name()'),
    symbol: textCall('symbol()'),
    contract_uri: textCall('contractURI()'),
    owner: addressCall('owner()'),
    pending_owner: addressCall('pendingOwner()'),
    transfer_validator: addressCall('getTransferValidator()'),
  }
  const admins: ContractCall<string[]> = { signature: 'getAdmins()', decode: decodeAddresses }
  const total = numberCall('totalSupply()')
  const names = Object.keys(calls) as (keyof typeof calls)[]
  const [texts, [admin], [supply, ...supplies], royalty] = await Promise.all([
    reader.call(Object.values(calls)),
    reader.call([admins]),
    reader.call([total, ...MAX_SUPPLY_FUNCTIONS.map(numberCall)]),
    readRoyalty(reader, facts),
  ])
  const values = names.map((name, at): [string, string | null] => [name, facts.take(name, calls[name], texts[at])])
  return {
    ...(Object.fromEntries(values) as Record<keyof typeof calls, string | null>),
    admins: facts.take('admins', admins, admin),
    total_supply: facts.take('total_supply', total, supply)?.toString() ?? null,
    ...royalty,
    supplies,
  }
}

/** IDs with which most collections begin. */
const FIRST_TOKENS = [1n, 0n]

/** Reads the royalty of an existing token if possible, because some contracts return no royalty for other tokens. */
async function readRoyalty(reader: ContractReader, facts: FieldCollector) {
  const byIndex: ContractCall<bigint> = { signature: 'tokenByIndex(uint256)', args: [0n], decode: decodeNumber }
  const ownerOf = (token: bigint): ContractCall<string> => ({
    ...{ signature: 'ownerOf(uint256)', args: [token], decode: decodeAddress },
  })
  const [owners, answers, [indexed]] = await Promise.all([
    reader.call(FIRST_TOKENS.map(ownerOf)),
    reader.call(FIRST_TOKENS.map(royaltyCall)),
    reader.call([byIndex]),
  ])
  const owned = owners.findIndex((owner) => nullIfZeroAddress(valueOrNull(owner)) !== null)
  const listed = owned === -1 ? valueOrNull(indexed) : null
  const [ofListed] = listed === null ? [] : await reader.call([royaltyCall(listed)])
  const [token = 1n, answer] = listed === null ? [FIRST_TOKENS[owned], answers[Math.max(0, owned)]] : [listed, ofListed]
  const royalty = facts.take('royalty', royaltyCall(token), answer)
  return { royalty, royalty_token: royalty === null ? null : token.toString() }
}

/**
 * Returns the owner of a token, or null for the zero address, which some contracts return for tokens that don't exist.
 */
export const nullIfZeroAddress = (owner: string | null): string | null =>
  owner === null || /^0x0+$/.test(owner) ? null : owner

function selectMaxSupply(answers: readonly CallOutcome<bigint>[], facts: FieldCollector) {
  const at = answers.findIndex((answer) => valueOrNull(answer) !== null)
  const [maxSupply, max_supply_function = null] = [valueOrNull(answers[at]), MAX_SUPPLY_FUNCTIONS[at]]
  if (maxSupply === null || max_supply_function === null) {
    const reasons = new Set(answers.map(problemOrNull))
    const why =
      reasons.size === 1
        ? [...reasons][0]
        : MAX_SUPPLY_FUNCTIONS.map((_, i) => answers[i] && problemOrNull(answers[i])).join(', ')
    facts.unreadableReasons.max_supply = `${MAX_SUPPLY_FUNCTIONS.join(', ')}: ${why ?? 'no response'}`
    return { max_supply: null, max_supply_function: null }
  }
  if (maxSupply > 0n) return { max_supply: String(maxSupply), max_supply_function }
  // In the contracts of gdn and thirdweb, 0 means that there is no maximum.
  facts.unreadableReasons.max_supply = `${max_supply_function} returns 0, which means no maximum in contracts of gdn and thirdweb`
  return { max_supply: null, max_supply_function }
}

function findContradictions(
  facts: Pick<ContractFacts, 'royalty' | 'total_supply' | 'max_supply' | 'max_supply_function'>,
  claimed: readonly InterfaceName[],
): string[] {
  const { royalty, total_supply, max_supply, max_supply_function } = facts
  const contradictions: string[] = []
  if (claimed.includes('ERC-2981 royalties') && royalty === null) {
    contradictions.push('it claims to support ERC-2981, but does not implement royaltyInfo(uint256,uint256)')
  }
  if (royalty !== null && royalty.percent > 100)
    contradictions.push(`its royalty of ${royalty.percent}% exceeds the price`)
  if (total_supply !== null && max_supply !== null && BigInt(total_supply) > BigInt(max_supply)) {
    contradictions.push(`totalSupply() is ${total_supply}, but ${max_supply_function} is only ${max_supply}`)
  }
  return contradictions
}
