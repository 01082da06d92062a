import type { Blockchain } from '../../../api/blockchains.ts'
import { isEvmAddress, isSameAddress } from '../../../api/same-address.ts'
import { flagError } from '../../../core/errors.ts'
import { type GdnCommand, wrongAddressError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { notEmpty, type ServerFlags } from '../../flags/common.ts'

/** The flags that select the collection of a token. */
export interface TokenFlags extends ServerFlags {
  contract?: string
  blockchain?: Blockchain
}

export const addTokenContractFlag = (command: GdnCommand): GdnCommand =>
  command.valueFlag('-c, --contract <address>', 'Collection of the token ID: address or name', notEmpty)

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

/**
 * Writes each token ID as `<contract>/<token ID>`, with the address of the collection in `--contract`, or of the
 * collection whose name precedes the slash. Leaves the IDs of NFTs unchanged.
 *
 * @throws GdnError `usage` for an unknown name, or an argument that contradicts `--contract`
 */
export async function resolveTokenArguments(
  deps: Deps,
  args: readonly string[],
  { contract, ...flags }: TokenFlags,
): Promise<string[]> {
  const resolved: string[] = []
  for (const arg of args) {
    const [, collection, tokenId] = /^(?:(.+)\/)?(\d{1,78})$/s.exec(arg) ?? []
    if (contract === undefined) {
      if (collection === undefined || /^0x/i.test(collection)) resolved.push(arg)
      else resolved.push(`${await resolveCollection(deps, collection, flags)}/${tokenId}`)
      continue
    }
    if (tokenId === undefined) throw flagError('--contract', 'requires a token ID', 'Omit --contract.')
    if (collection !== undefined && !isSameAddress(await resolveCollection(deps, collection, flags), contract))
      throw flagError('--contract', `differs from the collection of ${arg}`)
    if (!isEvmAddress(contract))
      throw flagError('--contract', 'must be an EVM contract for a token ID', 'Specify the NFT by its ID.')
    resolved.push(`${contract}/${tokenId}`)
  }
  return resolved
}

async function resolveCollection(deps: Deps, name: string, flags: TokenFlags): Promise<string> {
  const { resolveCollectionAddress } = await import('../../connect/named-collection.ts')
  return await resolveCollectionAddress(deps, name, flags, '<nft_gdn_id>')
}
