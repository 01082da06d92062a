import { hexQuantity } from '../core/hex-quantity.ts'
import { isObject } from '../core/json.ts'
import { PROVENANCE_COMMITTED_TOPIC } from '../verify/abi.ts'
import { type Block, isDevelopmentNode, readBlockAt } from '../verify/block-at.ts'
import type { ChainReader } from '../verify/chain-reader.ts'
import { readFirstTokenId, toUnreadable, UnreadableError } from './proof-reads.ts'

type Chain = Pick<ChainReader, 'call' | 'request' | 'origin'>

/** The commitment that ended the mint of a shuffled drop. */
export interface SealCommitment {
  /** The ID of the first token after the seal. This token and later ones don't belong to the drop. */
  firstTokenId: bigint
  block: number
  /** The block's Unix time in seconds. The node and the chain's validators are trusted to report it correctly. */
  time: number
  isFinal: boolean
  /** Whether the node simulates a chain. Its operator then chooses the block timestamps. */
  isSimulated: boolean
}

/**
 * Reads the seal of a shuffled drop from the chain; null if the drop isn't sealed.
 *
 * @param expected the block that probably contains the seal. Many nodes search for events only in a few blocks
 * @throws Unreadable
 */
export async function readSeal(
  chain: Chain,
  contract: string,
  seal: string,
  expected: number | null = null,
): Promise<SealCommitment | null> {
  const firstTokenId = await readFirstTokenId(chain, contract, seal)
  if (firstTokenId === 0n) return null
  return await toUnreadable(async () => {
    const isSimulated = await isDevelopmentNode(chain)
    const logged =
      (expected === null ? null : await loggedBlock(chain, contract, seal, expected)) ??
      (await loggedBlock(chain, contract, seal))
    const number = logged?.number ?? (await searchBlock(chain, contract, seal))
    const block = await readBlockAt(chain, number)
    if (block === null)
      throw new UnreadableError(`${chain.origin} does not have block ${number}, which sealed the drop`)
    // Either a reorg occurred, or a load balancer forwarded the requests to different nodes.
    if (logged !== null && logged.hash !== block.hash) {
      throw new UnreadableError(
        `${chain.origin} returned two different versions of block ${number}, so the seal of the drop may still change`,
      )
    }
    // A network without finality doesn't support the block tag `finalized`.
    const final = isSimulated ? null : await readBlockAt(chain, 'finalized')
    const isFinal = final === null || number <= final.number
    return { firstTokenId, block: number, time: Math.floor(block.time / 1000), isFinal, isSimulated }
  })
}

/**
 * Returns the block of the seal's event; null if the node doesn't return the event. Many nodes limit the number of
 * blocks that they search.
 *
 * @param only the block to search. Default: all blocks
 */
async function loggedBlock(
  chain: Chain,
  address: string,
  seal: string,
  only?: number,
): Promise<Pick<Block, 'number' | 'hash'> | null> {
  const [fromBlock, toBlock] = only === undefined ? ['0x0', 'latest'] : [hexQuantity(only), hexQuantity(only)]
  const filter = { address, topics: [PROVENANCE_COMMITTED_TOPIC, seal], fromBlock, toBlock }
  const response = await chain.request('eth_getLogs', [filter])
  if (!('result' in response) || !Array.isArray(response.result)) return null
  const [log, ...otherLogs] = response.result
  if (otherLogs.length > 0 || !isObject(log) || !Array.isArray(log.topics) || log.removed === true) return null
  const isOurs =
    String(log.address).toLowerCase() === address.toLowerCase() &&
    String(log.topics[0]).toLowerCase() === PROVENANCE_COMMITTED_TOPIC &&
    String(log.topics[1]).toLowerCase() === seal
  if (!isOurs || !/^0x[0-9a-f]{1,13}$/i.test(String(log.blockNumber))) return null
  return { number: Number(log.blockNumber), hash: String(log.blockHash).toLowerCase() }
}

/** Finds the first block in which the seal is committed. Requires an archive node. */
async function searchBlock(chain: Chain, contract: string, seal: string): Promise<number> {
  const newest: Block | null = await readBlockAt(chain, 'latest')
  if (newest === null) throw new UnreadableError(`${chain.origin} returns no block`)
  let [low, high] = [0, newest.number]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const committedAt = await readFirstTokenId(chain, contract, seal, hexQuantity(middle)).catch((error: unknown) => {
      if (!(error instanceof UnreadableError)) throw error
      throw new UnreadableError(
        `${chain.origin} returns neither the event that sealed the drop nor the state of past blocks (${error.message}): use another --rpc-url`,
      )
    })
    if (committedAt > 0n) high = middle
    else low = middle + 1
  }
  return low
}
