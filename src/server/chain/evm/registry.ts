import { decodeFunctionResult, encodeFunctionData, numberToHex } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { gdnFactory } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex } from './network.ts'

const { abi } = gdnFactory

/**
 * Whether an account may make collections and mint for this factory, as of a block or, by default, as of the newest that
 * the node has.
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
  // Where there is no contract, a call succeeds and says nothing.
  return BigInt(readWord(data) ?? 0n) === 1n
}

/** Call data by which a factory's admin appoints an operator. */
export const encodeAppoint = (account: Hex): Hex =>
  encodeFunctionData({ abi, functionName: 'setOperator', args: [account, true] })

/** Who may appoint a factory's operators; checksummed. Null where no factory of ours is. */
export async function readAdmin(network: Pick<EvmNetwork, 'request'>, factory: Hex): Promise<Hex | null> {
  const call = { abi, functionName: 'admin' } as const
  const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, 'latest'])
  const word = readWord(data)
  return word === null ? null : decodeFunctionResult({ ...call, data: word })
}

/** What a call returned that returns one value; null where nothing was called. */
function readWord(data: unknown): Hex | null {
  if (data === '0x') return null
  if (typeof data === 'string' && /^0x[0-9a-f]{64}$/i.test(data)) return data as Hex
  throw new GdnError('unreachable', 'a node answered a call oddly', { hint: 'try again, or give another RPC URL' })
}
