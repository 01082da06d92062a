import { rememberFor } from '../../rpc/remember-for.ts'

const PRICE_FRESH_MS = 10_000
/** Share of the last minute's blocks that would have accepted the price. */
const ACCEPTING_BLOCKS_SHARE = 0.75
/** Minimum price in micro-lamports for an urgent transaction, even if no other transaction pays a priority fee. */
const MIN_PRICE = 1_000n

export interface FeeMarket {
  /**
   * Returns the current price in micro-lamports for a compute unit, or twice that if `urgent`; never more than the cap.
   */
  price(options?: { urgent?: boolean }): Promise<bigint>
}

/**
 * Creates a source of compute unit prices.
 *
 * @param options.recent returns the minimum price that each recent block accepted, in micro-lamports for a compute unit
 */
export function createFeeMarket(options: {
  cap: bigint
  recent: () => Promise<readonly bigint[]>
  now?: () => number
}): FeeMarket {
  const { cap, recent, now } = options
  const ask = async () => {
    const sorted = [...(await recent())].sort((a, b) => (a < b ? -1 : 1))
    return sorted[Math.floor((sorted.length - 1) * ACCEPTING_BLOCKS_SHARE)] ?? 0n
  }
  const usual = rememberFor(PRICE_FRESH_MS, ask, now)

  return {
    async price({ urgent = false } = {}) {
      if (cap === 0n) return 0n
      const usualPrice = await usual()
      const price = urgent ? (2n * usualPrice > MIN_PRICE ? 2n * usualPrice : MIN_PRICE) : usualPrice
      return price > cap ? cap : price
    },
  }
}
