import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { isNoAnswer } from '../chain/rpc/rpc-answer.ts'

/** The first of these operators whom a factory didn't know as of a block; null where it knew all. */
export async function findMissing(
  network: RemoteNetwork,
  factory: Hex,
  operators: readonly Hex[],
  block: number,
): Promise<Hex | null> {
  const known = await Promise.all(operators.map((operator) => isOperator(network, factory, operator, block)))
  return operators.find((_, index) => !known[index]) ?? null
}

/**
 * Whether a factory knew all of these operators in a block that no reorg undoes any more; null where nobody says: nodes
 * need not have kept what was the state then.
 */
export async function wereAppointed(
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
