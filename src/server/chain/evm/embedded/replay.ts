import { GdnError } from '../../../../core/errors.ts'
import { hexQuantity } from '../../../../core/hex-quantity.ts'
import type { BlockJournal, HashedBlock } from '../../../store/block-journal.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import type { Hex } from '../network.ts'
import { poolStatus, type Tip } from './mine.ts'
import type { NodeRpc } from './node-rpc.ts'
import { submit } from './offer.ts'

/** Number of blocks whose hashes are checked in one JSON-RPC batch. */
const CHECK_EVERY = 100

export interface ReplayResult {
  tip: Tip
  transactionCount: number
}

/**
 * Rebuilds the chain from the journal on a new node. Submits the same transactions in the same order, mines with the
 * same timestamps, and compares every hash. Records the hash of a block that has none, because the backend or the node
 * exited before the hash was recorded, or because recording it failed.
 *
 * @throws GdnError `data_dir` if the node produces a different chain
 */
export async function replayJournal(
  rpc: NodeRpc,
  journal: BlockJournal<Hex>,
  genesis: { hash: Hex; timestamp: number },
  onBlocks: (height: number) => void,
): Promise<ReplayResult> {
  const tip: Tip = { number: 0, timestamp: genesis.timestamp, hash: genesis.hash, waitingCount: 0 }
  let transactionCount = 0
  let unchecked: HashedBlock<Hex>[] = []
  const check = async () => {
    const hash = await checkHashes(rpc, journal, unchecked)
    if (hash !== undefined) tip.hash = hash
    unchecked = []
    onBlocks(tip.number)
  }
  for await (const block of journal.blocks()) {
    if (block.number !== tip.number + 1) throw damagedChainError(`block ${tip.number + 1} is missing from the journal`)
    await replayBlock(rpc, block)
    tip.number = block.number
    tip.timestamp = block.timestamp
    transactionCount += block.transactions.length
    unchecked.push(block)
    if (unchecked.length === CHECK_EVERY) await check()
  }
  if (unchecked.length > 0) await check()
  const pool = await poolStatus(rpc)
  tip.waitingCount = pool.pending + pool.queued
  return { tip, transactionCount }
}

async function replayBlock(rpc: NodeRpc, block: HashedBlock<Hex>): Promise<void> {
  for (const response of await submit(rpc, block.transactions)) {
    if ('error' in response) {
      throw damagedChainError(`a transaction of block ${block.number} is now rejected (${response.error.message})`)
    }
  }
  try {
    await rpc.call('evm_mine', [block.timestamp])
  } catch (error) {
    throw error instanceof RpcError
      ? damagedChainError(`block ${block.number} can't be mined (${error.message})`)
      : error
  }
}

/**
 * Compares the blocks' hashes with the journal.
 *
 * @returns the hash of the last block
 */
async function checkHashes(rpc: NodeRpc, journal: BlockJournal<Hex>, blocks: readonly HashedBlock<Hex>[]) {
  const calls = blocks.map(({ number }) => ({
    method: 'eth_getBlockByNumber',
    params: [hexQuantity(number), false],
  }))
  const responses = await rpc.batch(calls)
  let last: Hex | undefined
  for (const [index, { number, hash }] of blocks.entries()) {
    const response = responses[index]
    const mined = response !== undefined && 'result' in response ? (response.result as { hash: Hex } | null) : null
    if (mined === null) throw damagedChainError(`block ${number} was not mined`)
    if (hash === null) await journal.recordHash(number, mined.hash)
    else if (hash !== mined.hash)
      throw damagedChainError(`block ${number} has the hash ${mined.hash} instead of ${hash}`)
    last = mined.hash
  }
  return last
}

function damagedChainError(problem: string): GdnError {
  return new GdnError('data_dir', `the embedded chain can't be rebuilt from the data directory: ${problem}`, {
    hint: 'Restore the data directory from a backup, or run `gdn local reset` to start with an empty one.',
  })
}
