import {
  concatHex,
  decodeDeployData,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  getCreate2Address,
  keccak256,
} from 'viem'
import { gdnFactory } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

/** What a collection is made with. Every field goes into its address, so none can be altered on the way. */
export interface CollectionInit {
  /** 32 bytes that name the request; the same request makes the same address. */
  requestId: Hex
  name: string
  symbol: string
  /** Becomes `owner()` of the collection. */
  owner: Hex
  enableApi: boolean
  enableTransfer: boolean
  /** Tokens can never be transferred (ERC-5192). */
  locked: boolean
}

const INIT_PARAMETERS = [
  { type: 'bytes32', name: 'requestId' },
  {
    type: 'tuple',
    name: 'init',
    components: [
      { type: 'string', name: 'name' },
      { type: 'string', name: 'symbol' },
      { type: 'address', name: 'owner' },
      { type: 'bool', name: 'enableApi' },
      { type: 'bool', name: 'enableTransfer' },
      { type: 'bool', name: 'locked' },
    ],
  },
] as const

/** The address of the factory that `admin` deploys in its first transaction (nonce 0). Checksummed. */
export function factoryAddress(admin: Hex): Hex {
  return getContractAddress({ from: admin, nonce: 0n })
}

/** The contract that every collection of a factory is a clone of. Checksummed. */
export function implementationAddress(factory: Hex): Hex {
  // A contract's own nonce starts at 1 (EIP-161), and its constructor makes the implementation first.
  return getContractAddress({ from: factory, nonce: 1n })
}

/** Init code that deploys a factory; its sender becomes the admin, which can't be one of the operators. */
export function encodeDeployFactory(operators: readonly Hex[]): Hex {
  return encodeDeployData({ abi: gdnFactory.abi, bytecode: gdnFactory.bytecode, args: [operators] })
}

/** The operators that a factory has from its deployment on, by its init code; null for one of another version of gdn. */
export function operatorsOfDeployment(data: Hex): readonly Hex[] | null {
  const { abi, bytecode } = gdnFactory
  if (!data.startsWith(bytecode)) return null
  return decodeDeployData({ abi, bytecode, data }).args[0]
}

/**
 * The address that a collection has, or will have: no chain is asked. Checksummed.
 *
 * @example
 * predictCollection(factoryAddress(admin), { requestId, name: 'Drop', symbol: 'DROP', owner, enableApi: true, enableTransfer: false, locked: false })
 */
export function predictCollection(factory: Hex, init: CollectionInit): Hex {
  const { requestId, ...rest } = init
  return getCreate2Address({
    from: factory,
    salt: keccak256(encodeAbiParameters(INIT_PARAMETERS, [requestId, rest])),
    bytecode: cloneInitCode(implementationAddress(factory)),
  })
}

/** Call data of `make`, to be sent to the factory by an operator. */
export function encodeMake(init: CollectionInit): Hex {
  const { requestId, ...rest } = init
  return encodeFunctionData({ abi: gdnFactory.abi, functionName: 'make', args: [requestId, rest] })
}

/** Init code of a minimal proxy (EIP-1167). */
function cloneInitCode(implementation: Hex): Hex {
  return concatHex(['0x3d602d80600a3d3981f3363d3d373d3d3d363d73', implementation, '0x5af43d82803e903d91602b57fd5bf3'])
}
