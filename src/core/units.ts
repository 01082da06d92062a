/** The number of decimals of EVM coins and prices. */
export const COIN_DECIMALS = 18

export const maxBigint = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/**
 * Converts a decimal number exactly to the smallest unit. With 18 decimals, `0.5` is 5 * 10^17. Returns null for other
 * text, such as a number with a sign, an exponent, or too many decimals.
 */
export function parseUnits(text: string, decimals = COIN_DECIMALS): bigint | null {
  const [, whole = '', fraction = ''] = /^([0-9]{1,30})(?:\.([0-9]{1,40}))?$/.exec(text) ?? []
  if (whole === '' || fraction.length > decimals) return null
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

export type Rounding = 'nearest' | 'up' | 'down'

/** Minimum number of significant digits, so that small amounts aren't shown as zero. */
const SIGNIFICANT = 4

/**
 * Formats an amount in the smallest unit as a decimal number, such as `0.001234`. Rounds to `shown` decimals, or to
 * more if fewer than four significant digits would remain.
 */
export function formatUnits(
  units: bigint,
  shown = COIN_DECIMALS,
  decimals = COIN_DECIMALS,
  rounding: Rounding = 'nearest',
): string {
  const places = Math.min(decimals, Math.max(shown, decimals - String(units).length + SIGNIFICANT))
  const dropped = 10n ** BigInt(decimals - places)
  const added = rounding === 'down' ? 0n : rounding === 'up' ? dropped - 1n : dropped / 2n
  const rounded = (units + added) / dropped
  if (places === 0) return String(rounded)
  const text = String(rounded).padStart(places + 1, '0')
  return `${text.slice(0, -places)}.${text.slice(-places)}`.replace(/\.?0+$/, '')
}

const SHOWN_COIN_DECIMALS = 6

/** Formats an amount in wei as coins, such as `0.001234`, for display. Amounts to pay should be rounded up. */
export const formatCoins = (wei: bigint, rounding?: Rounding): string =>
  formatUnits(wei, SHOWN_COIN_DECIMALS, COIN_DECIMALS, rounding)

const WEI_DECIMALS_IN_GWEI = 9
const SHOWN_GWEI_DECIMALS = 3

/** Formats a fee in wei as gwei. */
export const formatGwei = (wei: bigint, rounding?: Rounding): string =>
  formatUnits(wei, SHOWN_GWEI_DECIMALS, WEI_DECIMALS_IN_GWEI, rounding)
