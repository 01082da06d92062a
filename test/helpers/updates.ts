import { getAddress, parseAbi } from 'viem'
import type { NftRecord } from '../../src/api/nft-record.ts'
import type { ResponseOf } from '../../src/client/api-client.ts'
import {
  call,
  createTestCollection,
  mint,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
} from './backend.ts'
import { rpcOf } from './rpc-wallets.ts'

/** Functions and events of the standards, without our sources. */
export const TOKEN_ABI = parseAbi([
  'function tokenURI(uint256) view returns (string)',
  'function ownerOf(uint256) view returns (address)',
  'function burn(address,uint256)',
  'function freezeMetadata()',
  'function provenanceOf(bytes32) view returns (uint256)',
  'event MetadataUpdate(uint256 _tokenId)',
  'event BatchMetadataUpdate(uint256 _fromTokenId, uint256 _toTokenId)',
])

export const metadataOf = (title: string) => ({ title, description: '', file_fields: [] })

/** Creates a dynamic collection with NFTs. Resolves with them once they are deployed. */
export async function dynamicNfts(
  backend: TestBackend,
  titles: readonly string[],
  { receiver, run, ...request }: { receiver?: string; run?: string } & Readonly<Record<string, unknown>> = {},
): Promise<{ collection: TestCollection; ids: string[]; nfts: NftRecord[] }> {
  const collection = await createTestCollection(backend, { dynamic: true, ...request })
  const options = { ...(receiver && { receiver }), ...(run && { headers: { 'gdn-run': run } }) }
  const ids = await mint(backend, collection, titles.map(metadataOf), options)
  return { collection, ids, nfts: await settled(backend, ids) }
}

/** Sends an update. Resolves with the ID of its transaction. */
export async function update(
  backend: TestBackend,
  { address }: Pick<TestCollection, 'address'>,
  nft: string,
  title: string,
  more: object = {},
): Promise<string> {
  const body = { nft_gdn_id: nft, contract_address: address, metadata: [metadataOf(title)], ...more }
  return (await call(backend, 'updatednft', body)).response.transaction_gdn_id
}

export const showTransaction = async (backend: TestBackend, id: string) =>
  (await call(backend, 'gettransactions', { transaction_gdn_ids: [id] })).transactions[0]

/** Resolves with the record of a transaction once it is deployed or failed. */
export const ended = (backend: TestBackend, id: string) =>
  until(
    () => showTransaction(backend, id),
    (shown) => shown !== undefined && shown.status !== 'initiated',
  )

/** The title in the metadata file that a token has on chain. */
export async function titleOnChain(
  backend: TestBackend,
  { address }: Pick<TestCollection, 'address'>,
  nft: Pick<NftRecord, 'token_id'> | undefined,
  reader: Pick<ReturnType<typeof rpcOf>['reader'], 'readContract'> = rpcOf(backend).reader,
): Promise<string> {
  const uri = await reader.readContract({
    address: getAddress(address),
    abi: TOKEN_ABI,
    functionName: 'tokenURI',
    args: [BigInt(nft?.token_id ?? '')],
  })
  const file = await backend.get(`/ipfs/${uri.slice('ipfs://'.length)}`)
  return ((await file.json()) as { name: string }).name
}

/** The titles on chain and in getnfts, which have to be the same. */
export async function titles(
  backend: TestBackend,
  collection: Pick<TestCollection, 'address'>,
  ids: readonly string[],
  reader: Pick<ReturnType<typeof rpcOf>['reader'], 'readContract'> = rpcOf(backend).reader,
): Promise<{ chain: string[]; api: string[] }> {
  const nfts = await showNfts(backend, ids)
  return {
    chain: await Promise.all(nfts.map((nft) => titleOnChain(backend, collection, nft, reader))),
    api: nfts.map(({ request_metadata }) => (request_metadata as { title: string }).title),
  }
}

/** The events of an NFT. */
export const historyOf = async (backend: TestBackend, id: string): Promise<ResponseOf<'getnfthistory'>['events']> =>
  (await call(backend, 'getnfthistory', { nft_gdn_id: id })).events
