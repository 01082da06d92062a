import { readNftPages } from '../../../client/read-records.ts'
import { GdnError } from '../../../core/errors.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { resolveBlockchain } from './blockchain-of.ts'
import { parseTokenReference, resolveTokenArguments, type TokenFlags } from './token-reference.ts'

/**
 * Replaces each token (see `resolveTokenArguments`) with the NFT ID that the server assigned, and removes repeated IDs.
 * Leaves other IDs unchanged.
 *
 * @throws GdnError `usage` for an invalid address, and the errors of `resolveTokenArguments` and `findTokenNftId`
 */
export async function resolveNftIds(
  deps: Deps,
  connection: Connection,
  args: readonly string[],
  flags: TokenFlags,
): Promise<string[]> {
  const { blockchain } = flags
  const resolved = new Set<string>()
  for (const id of await resolveTokenArguments(deps, args, flags)) {
    const token = await parseTokenReference(id)
    const fields = { contract_address: token?.contractAddress ?? '', blockchain }
    resolved.add(token === null ? id : await findTokenNftId(deps, connection, fields, BigInt(token.tokenId)))
  }
  return [...resolved]
}

/**
 * Returns the ID that the server assigned to the NFT with a token ID.
 *
 * @throws GdnError `not_found`; the errors of `resolveBlockchain`
 */
export async function findTokenNftId(
  deps: Deps,
  connection: Connection,
  fields: { contract_address: string; blockchain?: unknown },
  tokenId: bigint,
): Promise<string> {
  const { client, server } = connection
  const { signal } = deps.signals
  const contract = fields.contract_address
  const blockchain = await resolveBlockchain(deps, fields, connection)
  const listing = client.call('getnftgdnids', { contract_addresses: contract, blockchain }, { signal })
  const { nft_gdn_ids: ids } = await awaitResponse(deps.io, server.origin, listing)
  for await (const { nfts } of readNftPages({ client, signal }, ids)) {
    const nft = nfts.find(({ token_id }) => parseServerTokenId(token_id) === tokenId)
    if (nft !== undefined) return nft.nft_gdn_id
  }
  throw new GdnError('not_found', `the server has no token ${tokenId} of ${contract}`, {
    hint: `Run \`gdn nft list -c ${contract} -b ${blockchain}${serverFlag(server)}\` to list the tokens.`,
  })
}

/**
 * Parses a token ID that a server returned. Unlike `parseTokenId`, accepts leading zeros and numbers above the range of
 * ERC-721. Returns null for anything else.
 */
export const parseServerTokenId = (text: unknown): bigint | null =>
  typeof text === 'string' && /^\d{1,78}$/.test(text) ? BigInt(text) : null
