import { backoffMs } from '../core/backoff.ts'
import { flagError, GdnError } from '../core/errors.ts'
import { type Block, readBlockAt } from '../verify/block-at.ts'
import type { ChainReader } from '../verify/chain-reader.ts'

/**
 * The block up to which holders are read: the block with a number, or the last block that isn't later than a time. Null
 * means the newest block that no reorg can remove.
 */
export type WantedBlock = { number: number } | { at: number } | null

type Node = Pick<ChainReader, 'request' | 'origin'>

/** Number of attempts to find a block that the node had before. All attempts take about seven seconds. */
const MAX_KNOWN_BLOCK_ATTEMPTS = 4

/**
 * Returns a block that the node had before, or null if the block no longer exists. Retries while the block is missing,
 * because one of several nodes behind a URL may lag.
 */
export async function readKnownBlock(
  node: Node,
  number: number,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<Block | null> {
  for (let attempt = 1; ; attempt++) {
    const block = await readBlockAt(node, number)
    if (block !== null || attempt === MAX_KNOWN_BLOCK_ATTEMPTS) return block
    await sleep(backoffMs(attempt), signal)
  }
}

/**
 * Returns the block to read up to. On a development chain, the newest block is the default. On other networks, the
 * default is the last final block, which no reorg can remove.
 *
 * @throws GdnError `usage` if the wanted block doesn't exist yet
 */
export async function resolveBlock(
  node: Node,
  wantedBlock: WantedBlock,
  isDevelopment: boolean,
  now: number,
): Promise<Block> {
  const newest = await readBlockAt(node, isDevelopment ? 'latest' : 'finalized')
  if (wantedBlock !== null && 'number' in wantedBlock) return await readBlock(node, wantedBlock.number, newest)
  if (newest === null) {
    throw new GdnError('refused', `${node.origin} returned no final block`, {
      hint: 'Add --block <number> with a block that no reorg can remove.',
    })
  }
  if (wantedBlock === null) return newest
  if (wantedBlock.at > newest.time && !(isDevelopment && wantedBlock.at <= now)) {
    const newestTime = new Date(newest.time).toISOString()
    const kind = isDevelopment ? 'newest' : 'last final'
    throw flagError(
      '--at',
      `is later than the ${kind} block (${newest.number}, mined at ${newestTime})`,
      'Use an earlier time, or try again later.',
    )
  }
  return await findLastBlockUntil(node, wantedBlock.at, newest)
}

async function readBlock(node: Node, number: number, newest: Block | null): Promise<Block> {
  const block = await readBlockAt(node, number)
  if (block?.number === number) return block
  const is =
    newest === null
      ? 'does not have'
      : number > newest.number
        ? `is at block ${newest.number}, so it does not have`
        : 'has deleted'
  const hint = newest !== null && number <= newest.number ? 'Use an archive node.' : 'Use an earlier block.'
  throw flagError('--block', `${node.origin} ${is} block ${number}`, hint)
}

/** Finds the last block that isn't later than a time. */
async function findLastBlockUntil(node: Node, at: number, newest: Block): Promise<Block> {
  if (newest.time <= at) return newest
  let lastBlock: Block | null = null
  let [low, high] = [0, newest.number - 1]
  while (low <= high) {
    const middle = Math.floor((low + high) / 2)
    const block = await readBlockAt(node, middle)
    if (block === null) {
      throw new GdnError('refused', `${node.origin} does not have block ${middle}`, {
        hint: `Use the URL of an archive node that has block ${middle}.`,
      })
    }
    if (block.time <= at) {
      lastBlock = block
      low = middle + 1
    } else high = middle - 1
  }
  if (lastBlock !== null) return lastBlock
  throw flagError('--at', 'is earlier than the first block of this network', 'Use a later time.')
}
