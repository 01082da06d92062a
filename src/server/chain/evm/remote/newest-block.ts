import { withTimeout } from '../../../../core/with-timeout.ts'
import { rememberFor } from '../../rpc/remember-for.ts'
import { type EvmNetwork, type Hex, parseQuantity } from '../network.ts'

const BLOCK_FRESH_MS = 4_000
/** Maximum wait for a node in milliseconds. After that, the last known block is returned. */
const READ_TIMEOUT_MS = 1_000
/** Time in milliseconds after which a network counts as stalled if its newest block doesn't change. */
const STALLED_MS = 60_000

export interface NewestBlock {
  number: number
  /** The timestamp of the block, in milliseconds since 1970. */
  time: number
  /** Whether nodes have responded for at least a minute without a new block. */
  isStalled: boolean
}

/** Returns a function that reads the newest block of a network. It returns null until a node has responded. */
export function watchNewestBlock(
  { request }: Pick<EvmNetwork, 'request'>,
  now: () => number,
): () => Promise<NewestBlock | null> {
  let newest: { number: number; time: number; firstAt: number; lastAt: number } | null = null
  const refresh = rememberFor(
    BLOCK_FRESH_MS,
    async () => {
      const block = await request<{ number: Hex; timestamp: Hex } | null>('eth_getBlockByNumber', ['latest', false])
      if (block === null) return
      const number = Number(parseQuantity(block.number))
      // Ignore an older block, which a lagging node returns.
      if (newest !== null && number <= newest.number) newest.lastAt = now()
      else newest = { number, time: Number(parseQuantity(block.timestamp)) * 1000, firstAt: now(), lastAt: now() }
    },
    now,
  )
  return async () => {
    await withTimeout(
      refresh().catch(() => {}),
      READ_TIMEOUT_MS,
    )
    if (newest === null) return null
    const { number, time, firstAt, lastAt } = newest
    return { number, time, isStalled: lastAt - firstAt >= STALLED_MS }
  }
}
