import type { Blockchain } from '../../api/blockchains.ts'
import type { NftRecord } from '../../api/nft-record.ts'
import type { CallOptions, RequestOf, ResponseOf } from '../../client/api-client.ts'
import { readNftPages } from '../../client/read-records.ts'

/** The client and signal for reading records. The client applies the rate limit. */
export interface RecordSource {
  client: ListingClient
  signal: AbortSignal | undefined
}

/** The functions of the client that list and read NFTs. */
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

/** Number of IDs that gdn sends in one getnfts request to read the NFTs of a listing or a run. */
export const IDS_PER_CALL = 100

/** Minimum time in milliseconds to wait for a listing that lags behind accepted requests. */
export const LISTING_LAG_MS = 30_000
/** Time in milliseconds between two listings. */
export const SEARCH_GAP_MS = 5_000

/**
 * Returns the IDs of the NFTs in a collection.
 *
 * @throws GdnError, or the signal's reason once it is aborted
 */
export async function listIds(
  { client, signal }: RecordSource,
  { contractAddress, blockchain }: Collection,
): Promise<Set<string>> {
  const request = { contract_addresses: contractAddress, blockchain }
  try {
    return new Set((await client.call('getnftgdnids', request, { signal })).nft_gdn_ids)
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : error
  }
}

/**
 * Reads NFTs in pages, so that the caller doesn't have to hold all of them in memory. The server omits unknown NFTs.
 *
 * @returns pages with the number of IDs requested so far
 * @throws GdnError, or the signal's reason once it is aborted
 */
export async function* readPages(
  { client, signal }: RecordSource,
  ids: readonly string[],
): AsyncGenerator<{ nfts: NftRecord[]; done: number }> {
  try {
    signal?.throwIfAborted()
    for await (const page of readNftPages({ client, signal }, ids, IDS_PER_CALL)) {
      yield page
      signal?.throwIfAborted()
    }
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : error
  }
}

/**
 * Returns the records of NFTs by ID. The server omits unknown NFTs.
 *
 * @throws see `readPages`
 */
export async function readRecords(source: RecordSource, ids: readonly string[]): Promise<Map<string, NftRecord>> {
  const records = new Map<string, NftRecord>()
  for await (const { nfts } of readPages(source, ids)) for (const nft of nfts) records.set(nft.nft_gdn_id, nft)
  return records
}
