import { decodeFunctionResult, encodeFunctionData, numberToHex } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { RpcError } from '../rpc/rpc-response.ts'
import { gdnFactory } from './contracts/generated/artifacts.ts'
import { isExecutionError } from './execution-error.ts'
import type { EvmNetwork, Hex } from './network.ts'

const { abi } = gdnFactory

/**
 * Returns whether an account may deploy collections and mint for a factory, as of a block. Default: the node's newest
 * block.
 */
export async function isOperator(
  network: Pick<EvmNetwork, 'request'>,
  factory: Hex,
  account: Hex,
  block?: number,
): Promise<boolean> {
  const call = { abi, functionName: 'isOperator', args: [account] } as const
  const at = block === undefined ? 'latest' : numberToHex(block)
  const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, at])
  // A call to an address without a contract succeeds and returns no data.
  return BigInt(readWord(data) ?? 0n) === 1n
}

/** Returns the call data for a factory's admin to authorize an operator. */
export const encodeAuthorize = (account: Hex): Hex =>
  encodeFunctionData({ abi, functionName: 'setOperator', args: [account, true] })

/** Returns the checksummed admin of a factory; null if the address has no gdn factory. */
export async function readAdmin(network: Pick<EvmNetwork, 'request'>, factory: Hex): Promise<Hex | null> {
  const call = { abi, functionName: 'admin' } as const
  const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, 'latest'])
  const word = readWord(data)
  return word === null ? null : decodeFunctionResult({ ...call, data: word })
}

/** Returns the version of a factory; null if it has no `version` function. */
export async function readFactoryVersion(network: Pick<EvmNetwork, 'request'>, factory: Hex): Promise<bigint | null> {
  const call = { abi, functionName: 'version' } as const
  try {
    const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, 'latest'])
    const word = readWord(data)
    return word === null ? null : BigInt(word)
  } catch (error) {
    if (error instanceof RpcError && isExecutionError(error)) return null
    throw error
  }
}

/** Returns the only value that a call returns; null if there is no contract. */
function readWord(data: unknown): Hex | null {
  if (data === '0x') return null
  if (typeof data === 'string' && /^0x[0-9a-f]{64}$/i.test(data)) return data as Hex
  throw new GdnError('unreachable', 'a node returned an invalid response to a call', {
    hint: 'Try again, or configure another RPC URL.',
  })
}
