/**
 * Returns a text that sorts like the given number from 0 to 2²⁵⁶. The text consists of the count of hex digits as two
 * hex digits, followed by the hex digits. SQLite's integers have only 64 bits.
 */
export function numberKey(value: bigint): string {
  const digits = value.toString(16)
  return digits.length.toString(16).padStart(2, '0') + digits
}

/** Returns the number of a key from `numberKey`. */
export const numberOf = (key: string): bigint => BigInt(`0x${key.slice(2)}`)
