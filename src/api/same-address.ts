// In a file of its own: commands that only look things up compare addresses, and load no hash function for it.

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Whether two addresses of a blockchain are the same: EVM addresses differ in case only for their checksum. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || (EVM_ADDRESS.test(a) && EVM_ADDRESS.test(b) && a.toLowerCase() === b.toLowerCase())
}
