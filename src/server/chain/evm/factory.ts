import {
  concatHex,
  decodeDeployData,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getAbiItem,
  getContractAddress,
  getCreate2Address,
  keccak256,
} from 'viem'
import { gdnFactory } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

/**
 * The init arguments of a collection. Its address depends on every field, so a change of any field would result in
 * another contract.
 */
export interface CollectionInit {
  /** 32 bytes that identify the request. The same request always results in the same address. */
  requestId: Hex
  name: string
  symbol: string
  /** The initial `owner()` of the collection. */
  owner: Hex
  enableApi: boolean
  enableTransfer: boolean
  /** Whether tokens can never be transferred (ERC-5192). */
  locked: boolean
  /** Whether the metadata of every token may be updated. */
  dynamic: boolean
  /** Whether operators may burn tokens. */
  enableBurn: boolean
  /** The receiver of royalties; the zero address without royalties. */
  royaltyReceiver: Hex
  /** Royalty in basis points of the sale price; 0 for none. */
  royaltyBps: bigint
  /** Maximum number of tokens that can ever be minted; 0 for no limit. */
  maxSupply: bigint
}

const MAKE = getAbiItem({ abi: gdnFactory.abi, name: 'make' })

/** Returns the checksummed address of the factory that `admin` deploys with this nonce. Default: the first nonce. */
export function factoryAddress(admin: Hex, nonce = 0): Hex {
  return getContractAddress({ from: admin, nonce: BigInt(nonce) })
}

/** Returns the checksummed address of the contract that every collection of a factory clones. */
export function implementationAddress(factory: Hex): Hex {
  // A contract's own nonce starts at 1 (EIP-161), and its constructor deploys the implementation first.
  return getContractAddress({ from: factory, nonce: 1n })
}

/**
 * Returns init code that deploys a factory. The account that sends it becomes the admin, which can't be an operator.
 */
export function encodeDeployFactory(operators: readonly Hex[]): Hex {
  return encodeDeployData({ abi: gdnFactory.abi, bytecode: gdnFactory.bytecode, args: [operators] })
}

/**
 * Decodes the initial operators of a factory from its init code. Returns null for the code of another version of gdn.
 */
export function operatorsOfDeployment(data: Hex): readonly Hex[] | null {
  const { abi, bytecode } = gdnFactory
  if (!data.startsWith(bytecode)) return null
  return decodeDeployData({ abi, bytecode, data }).args[0]
}

/**
 * Returns the checksummed address that a collection has or will have, without a request to the chain.
 *
 * @example
 * predictCollection(factoryAddress(admin), init)
 */
export function predictCollection(factory: Hex, { requestId, ...init }: CollectionInit): Hex {
  return getCreate2Address({
    from: factory,
    salt: keccak256(encodeAbiParameters(MAKE.inputs, [requestId, init])),
    bytecode: cloneInitCode(implementationAddress(factory)),
  })
}

/** Returns call data of `make`, which an operator sends to the factory. */
export function encodeMake({ requestId, ...init }: CollectionInit): Hex {
  return encodeFunctionData({ abi: gdnFactory.abi, functionName: 'make', args: [requestId, init] })
}

/** Returns the init code of a minimal proxy (EIP-1167). */
function cloneInitCode(implementation: Hex): Hex {
  return concatHex(['0x3d602d80600a3d3981f3363d3d373d3d3d363d73', implementation, '0x5af43d82803e903d91602b57fd5bf3'])
}
