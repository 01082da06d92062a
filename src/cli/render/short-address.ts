/** Shortens an address to its first and last characters, by which people recognize it. */
export const shortAddress = (address: string): string =>
  address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address
