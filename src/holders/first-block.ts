import { GdnError } from '../core/errors.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import type { ChainReader } from '../verify/chain-reader.ts'

type Node = Pick<ChainReader, 'request' | 'origin'>

/** Returns whether the contract has code at a block, or null if the node doesn't have the state of the block. */
export async function hasCode(node: Node, contract: string, block: number | 'latest'): Promise<boolean | null> {
  const response = await node.request('eth_getCode', [contract, block === 'latest' ? block : hexQuantity(block)])
  if ('error' in response) return null
  if (typeof response.result !== 'string') throw new GdnError('bad_answer', `${node.origin} returned invalid code`)
  return /^0x[0-9a-f]/i.test(response.result)
}

/**
 * Returns the block in which a contract was deployed, or 0 if the node doesn't have old states. `last` is a block in
 * which the contract has code.
 */
export async function findDeploymentBlock(node: Node, contract: string, last: number): Promise<number> {
  let [low, high] = [0, last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const isDeployed = await hasCode(node, contract, middle)
    if (isDeployed === null) return 0
    if (isDeployed) high = middle
    else low = middle + 1
  }
  return low
}
