const EVM_LENGTH = 42

/** Addresses that differ only in the case of their checksum are one. Those of no other blockchain begin with a 0. */
export function addressKey(address: string): string {
  return address.length === EVM_LENGTH && address.startsWith('0x') ? address.toLowerCase() : address
}

/** The owners that an NFT has as long as nobody moved it: its receiver, and of one that is minted to a sender that too. */
export function ownersOf({ receiver, sender }: { receiver: string; sender: string | null }): string[] {
  return [...new Set([receiver, sender ?? receiver].map(addressKey))]
}
