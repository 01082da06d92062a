import { remembered } from '../../rpc/remembered.ts'

/** How long the result is cached. */
const FRESH_MS = 10_000
/** Share of the last minute's blocks that accepted transactions at a lower price. */
const SHARE = 0.75
/** Price in micro-lamports for an urgent transaction if nobody else pays a priority fee. */
const LEAST_URGENT = 1_000n

export interface FeeMarket {
  /** Returns the current price in micro-lamports for a compute unit; higher if an earlier transaction expired. */
  price(options?: { urgent?: boolean }): Promise<bigint>
}

/** @param recent the minimum price that recent blocks accepted, in micro-lamports for a compute unit */
export function createFeeMarket(options: {
  cap: bigint
  recent: () => Promise<readonly bigint[]>
  now?: () => number
}): FeeMarket {
  const { cap, recent, now } = options
  const ask = async () => {
    const sorted = [...(await recent())].sort((a, b) => (a < b ? -1 : 1))
    return sorted[Math.floor((sorted.length - 1) * SHARE)] ?? 0n
  }
  const usual = remembered(FRESH_MS, ask, now)

  return {
    async price({ urgent = false } = {}) {
      if (cap === 0n) return 0n
      const found = await usual()
      const wanted = urgent ? (2n * found > LEAST_URGENT ? 2n * found : LEAST_URGENT) : found
      return wanted > cap ? cap : wanted
    },
  }
}
