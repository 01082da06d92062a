/** Formats a number as a quantity of JSON-RPC, such as `0x1a`. */
export const hexQuantity = (value: bigint | number): `0x${string}` => `0x${value.toString(16)}`
