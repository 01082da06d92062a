import { remembered } from '../../rpc/remembered.ts'

/** What is asked for is remembered for so long. */
const FRESH_MS = 10_000
/** Of the blocks of the last minute, the share that took transactions for less. */
const SHARE = 0.75
/** Offered, in micro-lamports, where nobody offers anything and something has to change all the same. */
const LEAST_URGENT = 1_000n

export interface FeeMarket {
  /** Micro-lamports to offer for a compute unit now; more where an earlier transaction came to nothing. */
  price(options?: { urgent?: boolean }): Promise<bigint>
}

/** @param recent what the last blocks took at least, in micro-lamports for a compute unit */
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
