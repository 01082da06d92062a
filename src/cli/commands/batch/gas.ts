// Gas of a transaction of gdn's contract, fitted to the results of `npm run bench -- gas`: 109,091 gas for one NFT,
// 5,947 each for 50 to one receiver, 49,197 each for 50 to 50 receivers.
const PER_TRANSACTION = 61_000n
const PER_RUN_OF_ONE_RECEIVER = 44_000n
const PER_TOKEN = 3_850n

/**
 * Estimates the gas of rows on gdn's own backend: one transaction with one receiver per request. Requests that wait
 * together share a transaction, so the actual gas is seldom higher.
 */
export function gasOf(rows: number, requests: number): bigint {
  return BigInt(requests) * (PER_TRANSACTION + PER_RUN_OF_ONE_RECEIVER) + BigInt(rows) * PER_TOKEN
}

const WEI = 10n ** 18n
const SHOWN_DIGITS = 6

/** Formats wei in coins, rounded to six decimals: `0.001234`. */
export function inCoins(wei: bigint): string {
  const unit = WEI / 10n ** BigInt(SHOWN_DIGITS)
  const rounded = (wei + unit / 2n) / unit
  if (rounded === 0n && wei > 0n) return `less than 0.${'0'.repeat(SHOWN_DIGITS - 1)}1`
  const text = String(rounded).padStart(SHOWN_DIGITS + 1, '0')
  return `${text.slice(0, -SHOWN_DIGITS)}.${text.slice(-SHOWN_DIGITS)}`.replace(/\.?0+$/, '')
}
