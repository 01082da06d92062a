/**
 * Encodes a number from 0 to 2²⁵⁶ as text that sorts in numerical order. The text is the number of hex digits, written
 * as two hex digits, followed by the hex digits themselves. SQLite's integers have only 64 bits.
 */
export function numberKey(value: bigint): string {
  const digits = value.toString(16)
  return digits.length.toString(16).padStart(2, '0') + digits
}

/** Decodes a key from `numberKey`. */
export const parseNumberKey = (key: string): bigint => BigInt(`0x${key.slice(2)}`)
