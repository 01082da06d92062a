import { numberToHex } from 'viem'
import { isExecutionError } from '../../chain/evm/execution-error.ts'
import type { EvmNetwork, Hex, PublicNetwork } from '../../chain/evm/network.ts'
import { isUnreachable, RpcError } from '../../chain/rpc/rpc-response.ts'

/**
 * Maximum number of reverts that count as temporary. After that, a revert is permanent even if the network's response
 * shows that the call would succeed now.
 */
export const MAX_TEMPORARY_REVERTS = 3

export interface Call {
  from: Hex
  to: Hex
  data: Hex
  gas: bigint
}

/**
 * The consequence of a final revert for the next attempt:
 * - `again`: the call would succeed now. It was executed before a transaction that it depends on, for example after a
 * reorg.
 * - `wait`: the call fails only in a state that a reorg can still change.
 * - `never`: the call would revert again.
 */
export type RevertVerdict = 'again' | 'wait' | 'never'

/** Judges a reverted call in the newest state and in the newest final state. */
export async function judgeRevertedCall(network: EvmNetwork, call: Call): Promise<RevertVerdict> {
  const { publicNetwork } = network
  if (await callSucceeds(network, call, 'latest')) return 'again'
  // If every block is final immediately, the newest state is the only one.
  if (publicNetwork === undefined) return 'never'
  // Also try the call in the newest known block, because a lagging node may not have the transaction that the call
  // depends on. A node without that block returns an error.
  if (await callSucceeds(network, call, numberToHex(await publicNetwork.head()))) return 'again'
  return (await readAtFinality(publicNetwork, (block) => callSucceeds(network, call, block))) === true
    ? 'wait'
    : 'never'
}

/** Returns the result of `read` for the newest final block. Returns null if no node has the state of that block. */
export async function readAtFinality<Result>(
  { head, finality }: PublicNetwork,
  read: (block: Hex) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await read(numberToHex(Math.max(0, (await head()) - finality + 1)))
  } catch (error) {
    const response = isUnreachable(error) ? error.cause : error
    if (response instanceof RpcError) return null
    throw error
  }
}

/**
 * Returns whether a refusal holds in the newest final state, so that no reorg can restore the missing rights. Also
 * returns true if no node has that state.
 */
export async function isRefusedAtFinality(
  { publicNetwork }: EvmNetwork,
  isRefused: (block: Hex) => Promise<boolean>,
): Promise<boolean> {
  return publicNetwork === undefined || ((await readAtFinality(publicNetwork, isRefused)) ?? true)
}

async function callSucceeds(network: EvmNetwork, { gas, ...call }: Call, block: Hex | 'latest'): Promise<boolean> {
  try {
    await network.request('eth_call', [{ ...call, gas: numberToHex(gas) }, block])
    return true
  } catch (error) {
    if (error instanceof RpcError && !isMissingBlockError(error)) return false
    throw error
  }
}

/**
 * Returns whether an error means that a node lacks a block or its state. Each node implementation has a different
 * message for this error.
 */
const isMissingBlockError = (error: RpcError): boolean =>
  !isExecutionError(error) && /header|block|state|trie|not found/i.test(error.message)
