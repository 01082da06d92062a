// In a separate file, because commands that only look things up compare addresses and need no hash function.

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Whether two addresses of a blockchain are the same. The case of EVM addresses differs only by their checksum. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || (EVM_ADDRESS.test(a) && EVM_ADDRESS.test(b) && a.toLowerCase() === b.toLowerCase())
}
