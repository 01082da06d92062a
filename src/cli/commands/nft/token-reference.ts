import { wrongAddressError } from '../../command.ts'

/** A token of a collection, identified without a server. */
export interface TokenReference {
  contractAddress: string
  tokenId: string
}

/**
 * Parses `<contract>/<token ID>`. Returns null for any other text.
 *
 * @throws GdnError `usage` for an address with a wrong length or checksum
 */
export async function parseTokenReference(text: string): Promise<TokenReference | null> {
  const [, contractAddress, tokenId] = /^(0x[0-9a-f]+)\/(\d{1,78})$/i.exec(text) ?? []
  if (contractAddress === undefined || tokenId === undefined) return null
  // Import this module lazily, because the checksum needs a package.
  const { evmAddressProblem } = await import('../../../api/address.ts')
  const problem = evmAddressProblem(contractAddress)
  if (problem !== null) throw wrongAddressError(contractAddress, problem, '<nft_gdn_id>')
  return { contractAddress, tokenId }
}
