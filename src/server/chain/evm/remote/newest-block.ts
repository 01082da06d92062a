import { withTimeout } from '../../../../core/with-timeout.ts'
import { remembered } from '../../rpc/remembered.ts'
import type { EvmNetwork, Hex } from '../network.ts'
import { readQuantity } from '../quantity.ts'

const FRESH_MS = 4_000
/** Maximum wait for a node. After it, the last known block is returned. */
const WITHIN_MS = 1_000
/** A network whose newest block stays the same for so long is stalled. */
const STALLED_MS = 60_000

export interface NewestBlock {
  number: number
  /** Milliseconds since 1970, as the block says. */
  time: number
  /** Whether nodes have responded for a minute without a new block. */
  isStalled: boolean
}

/** Returns a function that returns the newest block of a network; null until a node has responded. */
export function watchNewestBlock(
  { request }: Pick<EvmNetwork, 'request'>,
  now: () => number,
): () => Promise<NewestBlock | null> {
  let seen: { number: number; time: number; firstAt: number; lastAt: number } | null = null
  const look = remembered(
    FRESH_MS,
    async () => {
      const block = await request<{ number: Hex; timestamp: Hex } | null>('eth_getBlockByNumber', ['latest', false])
      if (block === null) return
      const number = Number(readQuantity(block.number))
      // A lagging node returns an older one.
      if (seen !== null && number <= seen.number) seen.lastAt = now()
      else seen = { number, time: Number(readQuantity(block.timestamp)) * 1000, firstAt: now(), lastAt: now() }
    },
    now,
  )
  return async () => {
    await withTimeout(
      look().catch(() => {}),
      WITHIN_MS,
    )
    if (seen === null) return null
    const { number, time, firstAt, lastAt } = seen
    return { number, time, isStalled: lastAt - firstAt >= STALLED_MS }
  }
}
