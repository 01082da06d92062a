import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { isNoResponse } from '../chain/rpc/rpc-response.ts'

/** Returns the first operator that isn't authorized by a factory as of a block; null if all are. */
export async function findMissing(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  block: number,
): Promise<Hex | null> {
  const isAuthorized = await Promise.all(operators.map((operator) => isOperator(network, factory, operator, block)))
  return operators.find((_, index) => !isAuthorized[index]) ?? null
}

/** Returns whether all operators were authorized by a factory in a final block; null if no node has that state. */
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
    if (isNoResponse(error)) return null
    throw error
  }
}
