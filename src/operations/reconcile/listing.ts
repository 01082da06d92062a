import type { Blockchain } from '../../api/blockchains.ts'
import type { NftRecord } from '../../api/nft-record.ts'
import type { CallOptions, RequestOf, ResponseOf } from '../../client/api-client.ts'
import { pagesOfNfts } from '../../client/read-records.ts'

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
export async function readUnlessStopped(
  { client, signal }: Asker,
  ids: readonly string[],
  onChunk: (nfts: readonly NftRecord[], done: number) => Promise<void> | void,
): Promise<boolean> {
  const pages = pagesOfNfts({ client, signal }, ids, IDS_PER_CALL)
  for (;;) {
    if (signal?.aborted === true) return false
    const page = await unlessStopped(signal, pages.next())
    if (page === null) return false
    if (page.done === true) return true
    await onChunk(page.value.nfts, page.value.done)
  }
}

async function unlessStopped<Answer>(signal: AbortSignal | undefined, asking: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asking
  } catch (error) {
    if (signal?.aborted === true) return null
    throw error
  }
}
