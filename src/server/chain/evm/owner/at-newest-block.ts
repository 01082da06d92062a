import { BLOCKS_TO_TRY, isStatePruned } from '../../../../core/pruned-state.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import type { EvmNetwork, Hex } from '../network.ts'

/**
 * Runs reads at the newest block. Starts over at a newer block if the node no longer has the state of the block.
 *
 * @param read called with the block's number. It must only read
 */
export async function atNewestBlock<Result>(
  network: Pick<EvmNetwork, 'request'>,
  read: (block: Hex) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const block = await network.request<Hex>('eth_blockNumber', [])
    try {
      return await read(block)
    } catch (error) {
      const isPruned = error instanceof RpcError && isStatePruned(error.message)
      if (!isPruned || attempt === BLOCKS_TO_TRY) throw error
    }
  }
}
