const EVM_LENGTH = 42

/** Addresses that differ only in the case of their checksum are one. Those of no other blockchain begin with a 0. */
export function addressKey(address: string): string {
  return address.length === EVM_LENGTH && address.startsWith('0x') ? address.toLowerCase() : address
}

/** The owners that an NFT has as long as nobody moved it: its receiver, and of one that is minted to a sender that too. */
export function ownersOf({ receiver, sender }: { receiver: string; sender: string | null }): string[] {
  return [...new Set([receiver, sender ?? receiver].map(addressKey))]
}

/** What a row is known by: `id:` and its id, or `row:` and its content with the number of the copy. */
export type RowKey = string

/** The key of a row with this id, or, without one, of the so-manieth of this content: `…`, `…#2`, `…#3`. */
export function rowKey(id: string | null, content: string, copy = 1): RowKey {
  if (id !== null) return `id:${id}`
  return copy === 1 ? `row:${content}` : `row:${content}#${copy}`
}

/** Whether the key says the content: a row of another content has another one. */
export function isContentKey(key: RowKey): boolean {
  return key.startsWith('row:')
}

/** The key as people and results see it. */
export function shownKey(key: RowKey): string {
  return key.slice(key.indexOf(':') + 1)
}
