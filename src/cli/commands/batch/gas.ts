// What a transaction of gdn's contract costs, fitted to what `npm run bench -- gas` measures: one NFT 109,091 gas, 50 to
// one receiver 5,947 each, 50 to 50 receivers 49,197 each.
const PER_TRANSACTION = 61_000n
const PER_RUN_OF_ONE_RECEIVER = 44_000n
const PER_TOKEN = 3_850n

/**
 * About how much gas rows take on gdn's own backend: at most a transaction to a request, and a receiver to it. Requests
 * that wait together share a transaction, so it is seldom more.
 */
export function gasOf(rows: number, requests: number): bigint {
  return BigInt(requests) * (PER_TRANSACTION + PER_RUN_OF_ONE_RECEIVER) + BigInt(rows) * PER_TOKEN
}

const WEI = 10n ** 18n
const SHOWN_DIGITS = 6

/** Wei in whole coins, rounded to six digits behind the point: `0.001234`. */
export function inCoins(wei: bigint): string {
  const unit = WEI / 10n ** BigInt(SHOWN_DIGITS)
  const rounded = (wei + unit / 2n) / unit
  if (rounded === 0n && wei > 0n) return `less than 0.${'0'.repeat(SHOWN_DIGITS - 1)}1`
  const text = String(rounded).padStart(SHOWN_DIGITS + 1, '0')
  return `${text.slice(0, -SHOWN_DIGITS)}.${text.slice(-SHOWN_DIGITS)}`.replace(/\.?0+$/, '')
}
