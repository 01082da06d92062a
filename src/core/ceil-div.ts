/** Divides and rounds up. `a` must not be negative, and `b` must be positive. */
export const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b
