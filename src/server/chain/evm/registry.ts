import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { gdnFactory } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex } from './network.ts'

const { abi } = gdnFactory

/** Whether an account may make collections and mint for this factory. */
export async function isOperator(network: Pick<EvmNetwork, 'request'>, factory: Hex, account: Hex): Promise<boolean> {
  const call = { abi, functionName: 'isOperator', args: [account] } as const
  const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, 'latest'])
  // Where there is no contract, a call succeeds and says nothing.
  return data !== '0x' && decodeFunctionResult({ ...call, data })
}

/** Call data by which a factory's admin appoints an operator. */
export const encodeAppoint = (account: Hex): Hex =>
  encodeFunctionData({ abi, functionName: 'setOperator', args: [account, true] })

/** Who may appoint a factory's operators; checksummed. Null where no factory of ours is. */
export async function readAdmin(network: Pick<EvmNetwork, 'request'>, factory: Hex): Promise<Hex | null> {
  const call = { abi, functionName: 'admin' } as const
  const data = await network.request<Hex>('eth_call', [{ to: factory, data: encodeFunctionData(call) }, 'latest'])
  return /^0x[0-9a-f]{64}$/i.test(data) ? decodeFunctionResult({ ...call, data }) : null
}
