import { isBlockchain } from '../../../api/blockchains.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection } from '../../deps.ts'
import { safe } from '../../io/io.ts'

interface Collection {
  contract_address?: unknown
  blockchain?: unknown
}

const NEW_COLLECTIONS_HINT = 'To permit transfers from the start, run `gdn collection create --enable-transfer`.'

/**
 * Returns a hint, after a refused transfer, on how to let the API transfer the NFTs of a collection. On a gdn backend,
 * the collection's owner can enable transfers. Other servers have their own contracts and messages. Returns undefined
 * if a gdn backend refused the transfer for another reason.
 */
export function howToEnableTransfer(
  { client, server }: Connection,
  refusal: string,
  { contract_address, blockchain }: Collection,
): string | undefined {
  if (client.supports('idempotency') !== true) {
    return `If the collection does not let the API transfer NFTs, ask the service to enable transfers for the owner. ${NEW_COLLECTIONS_HINT}`
  }
  if (!refusal.includes('enable_transfer')) return undefined
  const contract = typeof contract_address === 'string' ? safe(contract_address) : '<contract_address>'
  const on = typeof blockchain === 'string' && isBlockchain(blockchain) ? ` -b ${blockchain}` : ''
  return `The owner of the collection can enable transfers. Run:
gdn collection set ${contract}${on} --enable-transfer --wallet <owner>${serverFlag(server)}
${NEW_COLLECTIONS_HINT}`
}
