// These functions are in a separate file, because lookups compare addresses but need no hash function.

/** Matches an EVM address, with or without a checksum. */
export const EVM_ADDRESS_PATTERN = /^0x[0-9a-fA-F]{40}$/

export const isEvmAddress = (text: string): boolean => EVM_ADDRESS_PATTERN.test(text)

/** Returns whether two addresses on a blockchain are equal. The case of an EVM address is only a checksum. */
export function isSameAddress(a: string, b: string): boolean {
  return a === b || (isEvmAddress(a) && isEvmAddress(b) && a.toLowerCase() === b.toLowerCase())
}

const EVM_ADDRESS_LENGTH = 42

/** Also matches the prefix `0X`. Stored digests and identities depend on this, so the pattern must never change. */
const IDENTITY_ADDRESS = /^0x[0-9a-f]{40}$/i

/**
 * Converts an EVM address to lower case, because its case doesn't count in the identity of a request. Returns other
 * values unchanged.
 */
export const lowercaseAddress = (value: unknown): unknown =>
  typeof value === 'string' && IDENTITY_ADDRESS.test(value) ? value.toLowerCase() : value

/**
 * Converts EVM addresses to lower case, because their case is only a checksum. Addresses of other blockchains don't
 * begin with `0x` and stay unchanged.
 */
export function addressKey(address: string): string {
  return address.length === EVM_ADDRESS_LENGTH && address.startsWith('0x') ? address.toLowerCase() : address
}
