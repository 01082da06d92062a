import type { Blockchain } from '../../api/blockchains.ts'
import type { NftRecord } from '../../api/nft-record.ts'
import type { CallOptions, RequestOf, ResponseOf } from '../../client/api-client.ts'

/** The caller: a run, a check before a run, or a single command. The client limits the rate. */
export interface Asker {
  client: ListingClient
  signal: AbortSignal | undefined
}

/** The part of the client that lists and reads NFTs. */
interface ListingClient {
  call<Name extends 'getnfts' | 'getnftgdnids'>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
}

interface Collection {
  contractAddress: string
  blockchain: Blockchain
}

/** IDs in one getnfts request. */
export const IDS_PER_CALL = 100

/** How long the listing of a collection may lag behind what the server accepted, at least. */
export const LISTING_LAG_MS = 30_000
/** Time between two looks. */
export const LOOK_GAP_MS = 5_000

/**
 * Returns the IDs of a collection, each once; null if the caller was stopped meanwhile.
 *
 * @throws GdnError
 */
export async function listIds(
  { client, signal }: Asker,
  { contractAddress, blockchain }: Collection,
): Promise<Set<string> | null> {
  const request = { contract_addresses: contractAddress, blockchain }
  const answer = await unlessStopped(signal, client.call('getnftgdnids', request, { signal }))
  return answer === null ? null : new Set(answer.nft_gdn_ids)
}

/**
 * Reads NFTs in chunks, so that none of them need be kept. The server omits NFTs that it doesn't know.
 *
 * @param onChunk called after each response with the number of IDs requested so far
 * @returns whether all were read; false if the caller was stopped
 * @throws GdnError
 */
export async function readNfts(
  { client, signal }: Asker,
  ids: readonly string[],
  onChunk: (nfts: readonly NftRecord[], done: number) => Promise<void> | void,
): Promise<boolean> {
  for (let from = 0; from < ids.length; from += IDS_PER_CALL) {
    if (signal?.aborted === true) return false
    const chunk = ids.slice(from, from + IDS_PER_CALL)
    const answer = await unlessStopped(signal, client.call('getnfts', { nft_gdn_ids: chunk }, { signal }))
    if (answer === null) return false
    const wanted = new Set(chunk)
    // NFTs that weren't requested can't be relied on.
    const asked = answer.nfts.filter(({ nft_gdn_id }) => wanted.delete(nft_gdn_id))
    await onChunk(asked, from + chunk.length)
  }
  return true
}

async function unlessStopped<Answer>(signal: AbortSignal | undefined, asking: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asking
  } catch (error) {
    if (signal?.aborted === true) return null
    throw error
  }
}
