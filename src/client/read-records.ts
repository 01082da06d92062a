import type { NftRecord } from '../api/nft-record.ts'
import { chunksOf } from '../core/chunks-of.ts'
import type { CallOptions, RequestOf, ResponseOf } from './api-client.ts'

type RecordEndpoint = 'getnfts' | 'gettransactions'

/** A client that reads records, and the signal that cancels the requests. */
export interface RecordReader<Endpoint extends RecordEndpoint> {
  client: { call(name: Endpoint, request: RequestOf<Endpoint>, options?: CallOptions): Promise<ResponseOf<Endpoint>> }
  signal?: AbortSignal | undefined
}

export type TransactionRecord = ResponseOf<'gettransactions'>['transactions'][number]

/** Default number of IDs in a getnfts request. */
export const IDS_PER_REQUEST = 200

/**
 * Yields the records of NFTs in the order of `ids`, one page per request. `done` is the number of IDs requested so far.
 * Omits NFTs that the server doesn't have, and NFTs that weren't requested.
 */
export async function* readNftPages(
  { client, signal }: RecordReader<'getnfts'>,
  ids: readonly string[],
  perRequest = IDS_PER_REQUEST,
): AsyncGenerator<{ nfts: NftRecord[]; done: number }> {
  let done = 0
  for (const chunk of chunksOf(ids, perRequest)) {
    const requestedIds = new Set(chunk)
    const response = await client.call('getnfts', { nft_gdn_ids: [...requestedIds] }, { signal })
    const byId = new Map(response.nfts.map((nft) => [nft.nft_gdn_id, nft]))
    const nfts = [...requestedIds].flatMap((id) => byId.get(id) ?? [])
    done += chunk.length
    yield { nfts, done }
  }
}

/** Returns NFT records by ID, in the order of `ids`. Omits NFTs that the server doesn't have. */
export async function readNfts(
  reading: RecordReader<'getnfts'>,
  ids: readonly string[],
  perRequest?: number,
): Promise<Map<string, NftRecord>> {
  const records = new Map<string, NftRecord>()
  for await (const { nfts } of readNftPages(reading, ids, perRequest)) {
    for (const nft of nfts) records.set(nft.nft_gdn_id, nft)
  }
  return records
}

/** Returns the record of an NFT, or undefined if the server doesn't have the NFT. */
export async function readNft(reading: RecordReader<'getnfts'>, id: string): Promise<NftRecord | undefined> {
  return (await readNfts(reading, [id])).get(id)
}

/** Returns transaction records by ID. Omits transactions that the server doesn't have. */
export async function readTransactions(
  { client, signal }: RecordReader<'gettransactions'>,
  ids: readonly string[],
): Promise<Map<string, TransactionRecord>> {
  if (ids.length === 0) return new Map()
  const { transactions } = await client.call('gettransactions', { transaction_gdn_ids: [...ids] }, { signal })
  return new Map(transactions.map((record) => [record.transaction_gdn_id, record]))
}

/** Returns the record of a transaction, or undefined if the server doesn't have the transaction. */
export async function readTransaction(
  reading: RecordReader<'gettransactions'>,
  id: string,
): Promise<TransactionRecord | undefined> {
  return (await readTransactions(reading, [id])).get(id)
}
