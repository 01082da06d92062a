import { GdnError } from '../core/errors.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import type { ChainReader } from './chain-reader.ts'

export interface Block {
  number: number
  hash: string
  /** Block time in milliseconds since the epoch. */
  time: number
}

type Node = Pick<ChainReader, 'request' | 'origin'>

/**
 * Returns a block by number or tag, or null if the node doesn't have the block.
 *
 * @throws GdnError `bad_answer`
 */
export async function readBlockAt(node: Node, which: number | 'latest' | 'finalized'): Promise<Block | null> {
  const name = typeof which === 'number' ? hexQuantity(which) : which
  const response = await node.request('eth_getBlockByNumber', [name, false])
  if ('error' in response) {
    // Nodes that don't support finality reject tags such as `finalized`.
    if (typeof which === 'string') return null
    const { message } = response.error
    if (/not found|unknown block|out ?of ?range|beyond|prun/i.test(message)) return null
    throw new GdnError('bad_answer', `${node.origin} does not return block ${which}: ${message}`)
  }
  const block = response.result as { number?: unknown; hash?: unknown; timestamp?: unknown } | null
  if (block === null) return null
  const { number, hash, timestamp } = block
  const time = isQuantity(timestamp) ? Number(timestamp) * 1000 : Number.NaN
  if (!isQuantity(number) || !(time <= MAX_TIME_MS) || !/^0x[0-9a-f]{64}$/i.test(String(hash))) {
    throw new GdnError('bad_answer', `${node.origin} returned an invalid block`)
  }
  return { number: Number(number), hash: String(hash).toLowerCase(), time }
}

/** The latest time that a Date can represent, in milliseconds. */
const MAX_TIME_MS = 8.64e15
const isQuantity = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value)

/** Returns whether a node simulates a chain, on which no reorg removes the newest block. */
export async function isDevelopmentNode(node: Node): Promise<boolean> {
  const response = await node.request('web3_clientVersion', [])
  return 'result' in response && /^(anvil|hardhat)/i.test(String(response.result))
}
