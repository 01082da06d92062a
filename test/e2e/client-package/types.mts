// Compiled against the packed package, with several versions of TypeScript.
import {
  type Blockchain,
  type ClientOptions,
  type CreatenftRequest,
  createClient,
  type ErrorCode,
  GdnError,
  type ManifestProblem,
  type MintRequest,
  type NftMetadata,
  readManifest,
} from 'gdn'

const options: ClientOptions = { baseUrl: 'https://api.example.com', apiKey: 'key', apiVersion: '1.2' }
const gdn = createClient(options)
createClient()
// @ts-expect-error: there is no such version
createClient({ apiVersion: '2.0' })

const contract_address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const receiver_wallet_address = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const metadata: NftMetadata = {
  title: 'Dawn',
  description: '',
  file_fields: [{ key: 'image', url: 'ipfs://bafy' }],
  attribute: [{ tag: 'Sky', value: 'red' }],
  artist: 'Ada',
}
// @ts-expect-error: the field is attribute
const misspelled: NftMetadata = { title: 'Dawn', description: '', file_fields: [], attributes: [] }
// @ts-expect-error: a title is missing
const untitled: NftMetadata = { description: '', file_fields: [] }
const request: CreatenftRequest = { contract_address, blockchain: 'polygon', receiver_wallet_address, metadata }

export async function useEndpoints(signal: AbortSignal): Promise<string> {
  const { nfts } = await gdn.api.createnft({ ...request, reference_ids: ['row-1'] }, { signal })
  const id: string | undefined = nfts[0]?.nft_gdn_ids
  // @ts-expect-error: the response has no such type
  const count: number = nfts[0]?.nft_gdn_ids
  await gdn.api.createnft({ ...request, metadata: [metadata, metadata], reference_ids: undefined })
  // @ts-expect-error: contract_address is missing
  await gdn.api.createnft({ blockchain: 'polygon', receiver_wallet_address, metadata })
  // @ts-expect-error: not a field of the request
  await gdn.api.getnfts({ nft_gdn_ids: ['a'], status: 'deployed' })
  // @ts-expect-error: there is no such endpoint
  await gdn.api.deletenft({})
  // A server may have blockchains of its own.
  const chain: Blockchain = 'my-chain'
  // @ts-expect-error: not a name
  const wrong: Blockchain = 137
  await gdn.api.getreferences({ operation: 'createcollection', reference_ids: 'a' })
  // @ts-expect-error: these are in a collection
  await gdn.api.getreferences({ operation: 'createnft', reference_ids: ['a'] })
  const { url } = await gdn.api.files({ file: new Uint8Array(), name: 'dawn.png' })
  await gdn.api.files({ file: 'dawn.png' })
  // @ts-expect-error: file is missing
  await gdn.api.files({ name: 'dawn.png' })
  const shown = await gdn.api.getnfts({ nft_gdn_ids: [id ?? ''] })
  const status: string | undefined = shown.nfts[0]?.status
  await gdn.close()
  return [url, chain, wrong, count, status, untitled, misspelled].join()
}

const order: MintRequest = { contract_address, blockchain: 'polygon', receiver_wallet_address, metadata }

export async function mintOnce(): Promise<(string | undefined)[]> {
  const { operationId, nfts } = await gdn.mint(order, { idempotencyKey: 'order-1', timeoutMs: 60_000 })
  // @ts-expect-error: the key is missing
  await gdn.mint(order, {})
  // @ts-expect-error: not a request
  await gdn.mint({ blockchain: 'polygon' }, { idempotencyKey: 'order-2' })
  const deployed = await gdn.waitForNfts(nfts.map((nft) => nft.nft_gdn_id))
  return [operationId, ...deployed.map((nft) => nft.status)]
}

export async function createOnce(): Promise<string[]> {
  const spring = { name: 'Spring', blockchain: 'polygon', wallet_address: receiver_wallet_address }
  const { collection } = await gdn.createCollection(spring, { idempotencyKey: 'spring' })
  const address: string = collection.contract_address
  const accepted = await gdn.createCollection(spring, { idempotencyKey: 'spring', wait: false })
  // @ts-expect-error: it may not be deployed yet
  const early: string = accepted.collection.contract_address
  const { transaction } = await gdn.transfer(
    {
      contract_address,
      blockchain: 'polygon',
      token_id: '1',
      nft_gdn_id: 'a',
      sender_wallet_address: receiver_wallet_address,
      receiver_wallet_address,
    },
    { idempotencyKey: 'gift-1' },
  )
  return [address, early, transaction.status?.toUpperCase() ?? '']
}

export async function useManifests(): Promise<ManifestProblem[]> {
  const { rows, problems } = await readManifest('drop.csv', { blockchain: 'polygon' })
  const sent: NftMetadata[] = rows.map((row) => row.metadata)
  // @ts-expect-error: the field is called line
  problems[0]?.position
  return sent.length === 0 ? [] : problems
}

export function codeOf(error: unknown): ErrorCode | null {
  if (!(error instanceof GdnError)) return null
  // @ts-expect-error: there is no such code
  if (error.code === 'no_such_code') return null
  return error.code
}
