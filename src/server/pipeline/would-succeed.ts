import { numberToHex } from 'viem'
import { isExecutionError } from '../chain/evm/execution-error.ts'
import type { EvmNetwork, Hex } from '../chain/evm/network.ts'
import { RpcError } from '../chain/rpc/rpc-answer.ts'

/** What reverts again and again isn't held up by what passes, whatever the network says of the next time. */
export const PASSING_REVERTS = 3

export interface Call {
  from: Hex
  to: Hex
  data: Hex
  gas: bigint
}

/**
 * Whether a network that undoes blocks would take now what it has reverted: a reorg had put it before what it follows.
 * Where every block is final at once, nothing passes.
 */
export async function wouldSucceed(network: EvmNetwork, call: Call): Promise<boolean> {
  const { publicNetwork } = network
  if (publicNetwork === undefined) return false
  // A node that is behind may not have what it follows yet. One that lacks a block refuses to be asked about it.
  return (
    (await succeeds(network, call, 'latest')) ||
    (await succeeds(network, call, numberToHex(await publicNetwork.head())))
  )
}

async function succeeds(network: EvmNetwork, { gas, ...call }: Call, block: Hex | 'latest'): Promise<boolean> {
  try {
    await network.request('eth_call', [{ ...call, gas: numberToHex(gas) }, block])
    return true
  } catch (error) {
    if (error instanceof RpcError && !lacksBlock(error)) return false
    throw error
  }
}

/** Each node has words of its own for a block, or its state, that it doesn't have. */
const lacksBlock = (error: RpcError): boolean =>
  !isExecutionError(error) && /header|block|state|trie|not found/i.test(error.message)
