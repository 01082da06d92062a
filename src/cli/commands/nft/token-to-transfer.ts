import { isSameAddress } from '../../../api/same-address.ts'
import { readNft } from '../../../client/read-records.ts'
import { flagError } from '../../../core/errors.ts'
import type { Connection, Deps } from '../../deps.ts'
import { findTokenNftId, parseServerTokenId } from './nft-ids.ts'
import { parseTokenReference } from './token-reference.ts'
import type { TransferInput } from './transfer-request.ts'

/**
 * Replaces `<contract>/<token ID>`, or a token ID with `--contract`, with the NFT ID that the server assigned. Leaves
 * other transfers unchanged. If a number is the ID of an NFT on the server, it isn't treated as a token ID.
 *
 * @throws GdnError `usage` for a contract or token ID that contradicts a flag; `not_found`; the errors of
 * `resolveBlockchain`
 */
export async function findTransferredToken(
  deps: Deps,
  connection: Connection,
  transfer: TransferInput,
): Promise<TransferInput> {
  const { fields, nftGdnId } = transfer
  const token = await parseTokenReference(nftGdnId)
  const contract = token?.contractAddress ?? fields.contract_address
  const tokenId = token?.tokenId ?? (/^\d{1,78}$/.test(nftGdnId) ? nftGdnId : null)
  if (typeof contract !== 'string' || tokenId === null) return transfer
  if (token !== null && !isSameAddress(String(fields.contract_address ?? contract), contract))
    throw flagError('--contract', `differs from the contract of ${nftGdnId}`)
  if (BigInt(tokenId) !== parseServerTokenId(fields.token_id ?? tokenId))
    throw flagError('--token-id', `differs from the token ID of ${nftGdnId}`)
  const reading = { client: connection.client, signal: deps.signals.signal }
  if (token === null && (await readNft(reading, nftGdnId)) !== undefined) return transfer

  const foundId = await findTokenNftId(deps, connection, { ...fields, contract_address: contract }, BigInt(tokenId))
  return { ...transfer, nftGdnId: foundId, fields: { ...fields, contract_address: contract, nft_gdn_id: foundId } }
}
