export const MAX_UINT256 = 2n ** 256n - 1n

export const isUint256 = (value: bigint): boolean => value >= 0n && value <= MAX_UINT256

/** Parses a whole number in digits, without sign or leading zeros. Returns null for other text. */
export const parseUint = (text: string): bigint | null => (/^(?:0|[1-9]\d{0,77})$/.test(text) ? BigInt(text) : null)
