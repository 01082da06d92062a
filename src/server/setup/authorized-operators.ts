import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { isNoAnswer } from '../chain/rpc/rpc-answer.ts'

/**
 * Returns the first of these operators that a factory had not authorized as of a block; null if it had authorized all.
 */
export async function findMissing(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  block: number,
): Promise<Hex | null> {
  const isAuthorized = await Promise.all(operators.map((operator) => isOperator(network, factory, operator, block)))
  return operators.find((_, index) => !isAuthorized[index]) ?? null
}

/**
 * Whether a factory had authorized all of these operators in a final block; null if no node has that state.
 */
export async function wereAuthorized(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  head: number,
): Promise<boolean | null> {
  const deep = head - network.publicNetwork.finality + 1
  if (deep < 0) return false
  try {
    return (await findMissing(network, factory, operators, deep)) === null
  } catch (error) {
    if (isNoAnswer(error)) return null
    throw error
  }
}
