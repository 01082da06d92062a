/** Decimals of a coin of an EVM network, and of a price. */
export const COIN_DECIMALS = 18

/**
 * Parses a decimal number to its smallest units, exactly: `0.5` with 18 decimals is 5 * 10^17. Returns null for anything
 * else, such as a sign, an exponent, or more decimals.
 */
export function parseUnits(text: string, decimals = COIN_DECIMALS): bigint | null {
  const [, whole = '', fraction = ''] = /^([0-9]{1,30})(?:\.([0-9]{1,40}))?$/.exec(text) ?? []
  if (whole === '' || fraction.length > decimals) return null
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** Formats smallest units as a decimal number, rounded to at most so many decimals: `0.001234`. */
export function formatUnits(units: bigint, shown = COIN_DECIMALS, decimals = COIN_DECIMALS): string {
  const dropped = 10n ** BigInt(decimals - shown)
  const rounded = (units + dropped / 2n) / dropped
  if (rounded === 0n && units > 0n) return `less than 0.${'1'.padStart(shown, '0')}`
  if (shown === 0) return String(rounded)
  const text = String(rounded).padStart(shown + 1, '0')
  return `${text.slice(0, -shown)}.${text.slice(-shown)}`.replace(/\.?0+$/, '')
}

const WEI_DECIMALS_IN_GWEI = 9

/** Formats a fee in gwei with three significant decimals. */
export const inGwei = (wei: bigint): string => formatUnits(wei, wei < 10n ** 8n ? 6 : 3, WEI_DECIMALS_IN_GWEI)
