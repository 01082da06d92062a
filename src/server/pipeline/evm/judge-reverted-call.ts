import { numberToHex } from 'viem'
import { isExecutionError } from '../../chain/evm/execution-error.ts'
import type { EvmNetwork, Hex, PublicNetwork } from '../../chain/evm/network.ts'
import { isUnreachable, RpcError } from '../../chain/rpc/rpc-answer.ts'

/** What reverts again and again isn't held up by what passes, whatever the network says of the next time. */
export const PASSING_REVERTS = 3

export interface Call {
  from: Hex
  to: Hex
  data: Hex
  gas: bigint
}

/**
 * What a revert that is final means for the next time. `again`: the network would take the call now, so a reorg had put
 * it before what it follows. `wait`: only blocks that a reorg can still undo refuse it. `never`: it would revert again.
 */
export type RevertVerdict = 'again' | 'wait' | 'never'

/** Judges a reverted call by the newest state, and by the newest that no reorg can undo. */
export async function judgeRevertedCall(network: EvmNetwork, call: Call): Promise<RevertVerdict> {
  const { publicNetwork } = network
  // Where every block is final at once, nothing passes.
  if (publicNetwork === undefined) return 'never'
  // A node that is behind may not have what it follows yet. One that lacks a block refuses to be asked about it.
  if (await succeeds(network, call, 'latest')) return 'again'
  if (await succeeds(network, call, numberToHex(await publicNetwork.head()))) return 'again'
  return (await atFinality(publicNetwork, (block) => succeeds(network, call, block))) === true ? 'wait' : 'never'
}

/** Asks for the newest state that no reorg can undo; null where no node keeps it. */
export async function atFinality<Result>(
  { head, finality }: PublicNetwork,
  ask: (block: Hex) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await ask(numberToHex(Math.max(0, (await head()) - finality + 1)))
  } catch (error) {
    const answer = isUnreachable(error) ? error.cause : error
    if (answer instanceof RpcError) return null
    throw error
  }
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
