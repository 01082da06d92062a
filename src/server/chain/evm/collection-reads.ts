import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex } from './network.ts'

const { abi } = gdnCollection

/** The part of a network that reading needs. */
export type Reader = Pick<EvmNetwork, 'request'>

/** A block by number in hex, or by name. */
export type BlockReference = Hex | 'latest' | 'pending' | 'safe' | 'finalized'

/** A collection as of one block. */
export interface CollectionState {
  /** The zero address after `renounceOwnership`. */
  owner: Hex
  enableApi: boolean
  enableTransfer: boolean
  /** The owner has taken every right from the service, for good. */
  revoked: boolean
  locked: boolean
  nextTokenId: bigint
}

/** Who owns a token; checksummed. Rejects with the node's message where there is no such token. */
export async function readOwnerOf(
  network: Reader,
  collection: Hex,
  tokenId: bigint,
  block?: BlockReference,
): Promise<Hex> {
  const call = { abi, functionName: 'ownerOf', args: [tokenId] } as const
  return decodeFunctionResult({ ...call, data: await read(network, collection, encodeFunctionData(call), block) })
}

/** Owner, flags and next token id in one call, so that they belong together; null where nothing is deployed. */
export async function readCollectionState(
  network: Reader,
  collection: Hex,
  block?: BlockReference,
): Promise<CollectionState | null> {
  const call = { abi, functionName: 'state' } as const
  const data = await ethCall(network, collection, encodeFunctionData(call), block)
  return data === '0x' ? null : decodeFunctionResult({ ...call, data })
}

async function read(network: Reader, collection: Hex, data: Hex, block?: BlockReference): Promise<Hex> {
  const result = await ethCall(network, collection, data, block)
  // An address without code answers every call with nothing.
  if (result === '0x') throw new GdnError('not_found', `no collection at ${collection}`)
  return result
}

function ethCall(network: Reader, to: Hex, data: Hex, block: BlockReference = 'latest'): Promise<Hex> {
  return network.request<Hex>('eth_call', [{ to, data }, block])
}
