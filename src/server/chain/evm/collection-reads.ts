import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex } from './network.ts'

const { abi } = gdnCollection

export type Reader = Pick<EvmNetwork, 'request'>

/** A block number in hex, or a block tag such as `latest`. */
export type BlockReference = Hex | 'latest' | 'pending' | 'safe' | 'finalized'

/** The state of a collection at one block. */
export interface CollectionAtBlock {
  /** The owner of the collection; the zero address after `renounceOwnership`. */
  owner: Hex
  enableApi: boolean
  enableTransfer: boolean
  /** Whether the owner has permanently revoked all rights of the service. */
  revoked: boolean
  locked: boolean
  nextTokenId: bigint
  /** Maximum number of tokens that can ever be minted, including burned ones; 0 for no limit. */
  maxSupply: bigint
}

/** The settings and the state of a collection that determine how its tokens can change later. */
export interface CollectionLifecycle {
  version: bigint
  dynamic: boolean
  enableBurn: boolean
  /** Whether the owner has permanently frozen the metadata of all tokens. */
  frozen: boolean
  /** Sequence number of the last update; 0 if there was no update. */
  updateCount: number
  /** The account to which ownership was offered; the zero address if there is none. */
  pendingOwner: Hex
}

/** The metadata of a token, including a burned token. */
export interface MetadataState {
  /** Sequence number of the token's last update; 0 if it was never updated. */
  revision: number
  dynamic: boolean
  frozen: boolean
}

/** Returns the checksummed owner of a token. Rejects with the node's message if the token doesn't exist. */
export async function readOwnerOf(
  network: Reader,
  collection: Hex,
  tokenId: bigint,
  block?: BlockReference,
): Promise<Hex> {
  const call = { abi, functionName: 'ownerOf', args: [tokenId] } as const
  return decodeFunctionResult({
    ...call,
    data: await callCollection(network, collection, encodeFunctionData(call), block),
  })
}

/**
 * Reads the owner, flags, limit and next token ID in one call, so that they are consistent. Returns null if no contract
 * is deployed.
 */
export async function readCollectionState(
  network: Reader,
  collection: Hex,
  block?: BlockReference,
): Promise<CollectionAtBlock | null> {
  const call = { abi, functionName: 'state' } as const
  const data = await ethCall(network, collection, encodeFunctionData(call), block)
  return data === '0x' ? null : decodeFunctionResult({ ...call, data })
}

/** Returns the lifecycle of a collection's tokens; null if the collection isn't deployed. */
export async function readLifecycle(
  network: Reader,
  collection: Hex,
  block?: BlockReference,
): Promise<CollectionLifecycle | null> {
  const call = { abi, functionName: 'lifecycle' } as const
  const data = await ethCall(network, collection, encodeFunctionData(call), block)
  return data === '0x' ? null : decodeFunctionResult({ ...call, data })
}

/** Returns the state of a token's metadata. */
export async function readMetadataState(
  network: Reader,
  collection: Hex,
  tokenId: bigint,
  block?: BlockReference,
): Promise<MetadataState> {
  const call = { abi, functionName: 'metadataState', args: [tokenId] } as const
  return decodeFunctionResult({
    ...call,
    data: await callCollection(network, collection, encodeFunctionData(call), block),
  })
}

/**
 * Returns the next token ID that a collection had when the provenance hash was committed. Returns 0 if the hash wasn't
 * committed, or if the collection isn't deployed.
 */
export async function readProvenance(
  network: Reader,
  collection: Hex,
  provenance: Hex,
  block?: BlockReference,
): Promise<bigint> {
  const call = { abi, functionName: 'provenanceOf', args: [provenance] } as const
  const data = await ethCall(network, collection, encodeFunctionData(call), block)
  return data === '0x' ? 0n : decodeFunctionResult({ ...call, data })
}

async function callCollection(network: Reader, collection: Hex, data: Hex, block?: BlockReference): Promise<Hex> {
  const result = await ethCall(network, collection, data, block)
  // A call to an address without code returns empty data.
  if (result === '0x') throw new GdnError('not_found', `no collection at ${collection}`)
  return result
}

function ethCall(network: Reader, to: Hex, data: Hex, block: BlockReference = 'latest'): Promise<Hex> {
  return network.request<Hex>('eth_call', [{ to, data }, block])
}
