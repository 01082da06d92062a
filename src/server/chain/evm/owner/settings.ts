import {
  type AbiFunction,
  decodeFunctionResult,
  encodeFunctionData,
  getAbiItem,
  isAddressEqual,
  parseAbi,
  zeroAddress,
} from 'viem'
import { GdnError } from '../../../../core/errors.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { isExecutionError } from '../execution-error.ts'
import type { EvmNetwork, Hex } from '../network.ts'
import { atNewestBlock } from './at-newest-block.ts'

/** The functions of our contract that read or change its settings. */
const ABI = parseAbi([
  'function owner() view returns (address)',
  'function enableApi() view returns (bool)',
  'function enableTransfer() view returns (bool)',
  'function isRevoked() view returns (bool)',
  'function royaltyInfo(uint256 tokenId, uint256 price) view returns (address, uint256)',
  'function contractURI() view returns (string)',
  'function pendingOwner() view returns (address)',
  'function isFrozen() view returns (bool)',
  'function maxSupply() view returns (uint64)',
  'function nextTokenId() view returns (uint256)',
  'function setEnableApi(bool enabled)',
  'function setEnableTransfer(bool enabled)',
  'function setDefaultRoyalty(address receiver, uint96 feeNumerator)',
  'function deleteDefaultRoyalty()',
  'function setContractURI(string uri)',
  'function transferOwnership(address newOwner)',
  'function acceptOwnership()',
  'function freezeMetadata()',
  'function setMaxSupply(uint64 newMaxSupply)',
])

/** The full sale price in basis points. Royalties are fractions of it (ERC-2981). */
export const FULL_PRICE_BASIS_POINTS = 10_000

/** The settings in a collection's contract. Addresses are checksummed. */
export interface OwnerSettings {
  /** The owner of the collection; the zero address after `renounceOwnership`. */
  owner: Hex
  enableApi: boolean
  enableTransfer: boolean
  /** Whether the owner has permanently revoked all rights of the service. */
  revoked: boolean
  /** The royalty; null if there is none. */
  royalty: Royalty | null
  contractUri: string
  /** The wallet to which ownership was offered; null if there is none. */
  pendingOwner: Hex | null
  /** Whether the owner has permanently frozen the metadata of all NFTs. */
  frozen: boolean
  /** Maximum number of NFTs that can ever be minted, including burned ones; null for no limit. */
  maxSupply: bigint | null
  /** Number of NFTs that were ever minted, including burned ones. */
  minted: bigint
}

export interface Royalty {
  receiver: Hex
  /** The royalty in basis points of the sale price. */
  basisPoints: number
}

/**
 * A change that the owner makes with a transaction. `accept_ownership` is sent by the account to which ownership was
 * offered.
 */
export type OwnerCall =
  | { kind: 'enable_api' | 'enable_transfer'; enabled: boolean }
  | { kind: 'royalty'; royalty: Royalty | null }
  | { kind: 'contract_uri'; uri: string }
  | { kind: 'offer_ownership'; to: Hex }
  | { kind: 'accept_ownership' }
  | { kind: 'freeze' }
  | { kind: 'max_supply'; maxSupply: bigint }

/** Returns the call data of a change. */
export const encodeOwnerCall = (call: OwnerCall): Hex => encodeFunctionData({ abi: ABI, ...toFunctionCall(call) })

/** A function of the contract, and the values of its parameters by name. */
export interface NamedCall {
  function: AbiFunction
  values: Readonly<Record<string, string>>
}

/** Returns the function and the parameters of a change, so that a person can review it. */
export function nameOwnerCall(call: OwnerCall): NamedCall {
  const { functionName, args = [] } = toFunctionCall(call)
  const abiFunction: AbiFunction = getAbiItem({ abi: ABI, name: functionName })
  const values = abiFunction.inputs.map(({ name = '' }, at): [string, string] => [name, String(args[at])])
  return { function: abiFunction, values: Object.fromEntries(values) }
}

function toFunctionCall(call: OwnerCall) {
  switch (call.kind) {
    case 'enable_api':
      return { functionName: 'setEnableApi', args: [call.enabled] } as const
    case 'enable_transfer':
      return { functionName: 'setEnableTransfer', args: [call.enabled] } as const
    case 'royalty': {
      if (call.royalty === null) return { functionName: 'deleteDefaultRoyalty' } as const
      const { receiver, basisPoints } = call.royalty
      return { functionName: 'setDefaultRoyalty', args: [receiver, BigInt(basisPoints)] } as const
    }
    case 'contract_uri':
      return { functionName: 'setContractURI', args: [call.uri] } as const
    case 'offer_ownership':
      return { functionName: 'transferOwnership', args: [call.to] } as const
    case 'accept_ownership':
      return { functionName: 'acceptOwnership' } as const
    case 'freeze':
      return { functionName: 'freezeMetadata' } as const
    case 'max_supply':
      return { functionName: 'setMaxSupply', args: [call.maxSupply] } as const
  }
}

/**
 * Reads the settings of a contract at a single block.
 *
 * @throws GdnError `not_found` if the address has no gdn contract
 */
export const readOwnerSettings = (
  network: Pick<EvmNetwork, 'request' | 'blockchain'>,
  contract: Hex,
): Promise<OwnerSettings> => atNewestBlock(network, (block) => readSettingsAt(network, contract, block))

async function readSettingsAt(
  network: Pick<EvmNetwork, 'request' | 'blockchain'>,
  contract: Hex,
  block: Hex,
): Promise<OwnerSettings> {
  const abi = ABI
  const read = async <Value>(data: Hex, decode: (result: Hex) => Value): Promise<Value> => {
    try {
      return decode(await network.request<Hex>('eth_call', [{ to: contract, data }, block]))
    } catch (error) {
      // Rethrow failures of the node. A contract of another kind reverts or returns other data, and an address without
      // code returns no data.
      if (error instanceof GdnError || (error instanceof RpcError && !isExecutionError(error))) throw error
      throw notGdnCollectionError(network, contract)
    }
  }
  const readFlag = async (functionName: 'enableApi' | 'enableTransfer' | 'isRevoked' | 'isFrozen') => {
    const call = { abi, functionName } as const
    return await read(encodeFunctionData(call), (data) => decodeFunctionResult({ ...call, data }))
  }
  const readAccount = async (functionName: 'owner' | 'pendingOwner') => {
    const call = { abi, functionName } as const
    return await read(encodeFunctionData(call), (data) => decodeFunctionResult({ ...call, data }))
  }
  const readNumber = async (functionName: 'maxSupply' | 'nextTokenId') => {
    const call = { abi, functionName } as const
    return await read(encodeFunctionData(call), (data) => decodeFunctionResult({ ...call, data }))
  }
  const owner = await readAccount('owner')
  const royaltyCall = { abi, functionName: 'royaltyInfo', args: [1n, BigInt(FULL_PRICE_BASIS_POINTS)] } as const
  const uriCall = { abi, functionName: 'contractURI' } as const
  const [enableApi, enableTransfer, revoked, frozen, maxSupply, nextTokenId, pending, royalty, contractUri] =
    await Promise.all([
      readFlag('enableApi'),
      readFlag('enableTransfer'),
      readFlag('isRevoked'),
      readFlag('isFrozen'),
      readNumber('maxSupply'),
      readNumber('nextTokenId'),
      readAccount('pendingOwner'),
      read(encodeFunctionData(royaltyCall), (data) => decodeFunctionResult({ ...royaltyCall, data })),
      read(encodeFunctionData(uriCall), (data) => decodeFunctionResult({ ...uriCall, data })),
    ])
  const [receiver, basisPoints] = royalty
  return {
    owner,
    enableApi,
    enableTransfer,
    revoked,
    contractUri,
    frozen,
    maxSupply: maxSupply === 0n ? null : maxSupply,
    minted: nextTokenId - 1n,
    pendingOwner: isAddressEqual(pending, zeroAddress) ? null : pending,
    royalty: isAddressEqual(receiver, zeroAddress) ? null : { receiver, basisPoints: Number(basisPoints) },
  }
}

/**
 * Returns the metadata URI of a contract itself, not of its tokens.
 *
 * @throws GdnError `not_found` if the address has no contract
 */
export async function readContractUri(
  network: Pick<EvmNetwork, 'request' | 'blockchain'>,
  contract: Hex,
): Promise<string> {
  const call = { abi: ABI, functionName: 'contractURI' } as const
  const data = await network.request<Hex>('eth_call', [{ to: contract, data: encodeFunctionData(call) }, 'latest'])
  if (data === '0x') throw notGdnCollectionError(network, contract)
  return decodeFunctionResult({ ...call, data })
}

const notGdnCollectionError = ({ blockchain }: Pick<EvmNetwork, 'blockchain'>, contract: Hex) =>
  new GdnError('not_found', `${contract} is not a gdn collection on ${blockchain}`, {
    hint: 'Check the address. If the collection is on another blockchain, add -b <blockchain>.',
  })
