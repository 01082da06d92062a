/** A token of a collection, identified without a server. */
export interface NamedToken {
  contractAddress: string
  tokenId: string
}

/** Parses `<contract>/<token ID>`. Returns null for any other text. */
export function tokenNamed(text: string): NamedToken | null {
  const [, contractAddress, tokenId] = /^(0x[0-9a-f]{40})\/(\d{1,78})$/i.exec(text) ?? []
  return contractAddress === undefined || tokenId === undefined ? null : { contractAddress, tokenId }
}
