import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { isRpcFailure } from '../chain/rpc/rpc-response.ts'

/** Returns the first operator that a factory hasn't authorized as of a block. Returns null if all are authorized. */
export async function findUnauthorizedOperator(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  block: number,
): Promise<Hex | null> {
  const isAuthorized = await Promise.all(operators.map((operator) => isOperator(network, factory, operator, block)))
  return operators.find((_, index) => !isAuthorized[index]) ?? null
}

/** Returns whether a factory had authorized all operators in a final block. Returns null if no node has that state. */
export async function wereOperatorsAuthorized(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  head: number,
): Promise<boolean | null> {
  const finalBlock = head - network.publicNetwork.finality + 1
  if (finalBlock < 0) return false
  try {
    return (await findUnauthorizedOperator(network, factory, operators, finalBlock)) === null
  } catch (error) {
    if (isRpcFailure(error)) return null
    throw error
  }
}
