import type { NftRecord } from '../../api/nft-record.ts'
import * as nfts from '../../operations/fetch-nfts.ts'
import type { Connection, Deps } from '../deps.ts'

/** Returns the details of NFTs in the order of their IDs. Unknown IDs are left out. */
export const fetchNfts = (
  { signals }: Deps,
  client: Connection['client'],
  ids: readonly string[],
  onChunk?: (records: NftRecord[], asked: number) => Promise<void> | void,
): Promise<NftRecord[]> => nfts.fetchNfts({ client, signal: signals.signal }, ids, onChunk)
