import type { NftRecord } from '../api/nft-record.ts'
import type { ApiClient } from '../client/api-client.ts'
import { GdnError } from '../core/errors.ts'

/** Number of IDs in one getnfts request. */
export const IDS_PER_REQUEST = 200

/** Returns the details of NFTs in the order of their IDs, fetched in chunks. Unknown IDs are left out. */
export async function fetchNfts(
  { client, signal }: { client: Pick<ApiClient, 'call'>; signal: AbortSignal },
  ids: readonly string[],
  onChunk?: (records: NftRecord[], asked: number) => Promise<void> | void,
): Promise<NftRecord[]> {
  const found: NftRecord[] = []
  for (let at = 0; at < ids.length; at += IDS_PER_REQUEST) {
    const asked = ids.slice(at, at + IDS_PER_REQUEST)
    const { nfts } = await client.call('getnfts', { nft_gdn_ids: asked }, { signal })
    const byId = new Map(nfts.map((nft) => [nft.nft_gdn_id, nft]))
    const chunk = asked.flatMap((id) => byId.get(id) ?? [])
    found.push(...chunk)
    await onChunk?.(chunk, asked.length)
  }
  return found
}

/** Throws for IDs that the server doesn't know. getnfts omits them without an error. */
export function refuseUnknown(missing: readonly string[]): void {
  if (missing.length > 0) throw unknownNfts(missing)
}

export const unknownNfts = (missing: readonly string[]) =>
  new GdnError('not_found', `the server has no ${missing.length === 1 ? 'NFT' : 'NFTs'} ${missing.join(', ')}`, {
    hint: 'Check the ID, the server and the account of the API key.',
    details: { nft_gdn_ids: missing },
  })
