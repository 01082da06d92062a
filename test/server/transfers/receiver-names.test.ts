/** @module-tag slow */
import { beforeAll, expect, it } from 'vitest'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { show } from '../../helpers/explorer.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'

const [ALICE, BOB, CAROL] = WALLETS
const FAMILY = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}.eth'
const wallet = newWallet()

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend, { enable_transfer: true })
})

const inCollection = () => ({ contract_address: collection.address, blockchain: collection.blockchain })

const post = (endpoint: string, body: object) => backend.post(`/api/v1/${endpoint}`, { ...inCollection(), ...body })

const mintRequest = (receiver_wallet_address: string, receiver_name: string | undefined, more: object = {}) => ({
  metadata: plainMetadata(1),
  receiver_wallet_address,
  receiver_name,
  ...more,
})

function idOf(answer: Answer): string {
  expect(answer.status, JSON.stringify(answer.json)).toBe(200)
  return answer.json.nfts[0].nft_gdn_ids
}

/** Mints an NFT for the wallet under a name, and returns what a transfer of it needs. */
async function minted(name?: string) {
  const id = idOf(await post('createnft', mintRequest(wallet.address, name)))
  const [nft] = await settled(backend, [id])
  return { nft_gdn_id: id, token_id: String(nft?.token_id), sender_wallet_address: wallet.address }
}

const shown = async (id: string) => {
  const [nft] = await showNfts(backend, [id])
  return [nft?.receiver_wallet_address, nft?.receiver_name]
}

async function transfer(body: object) {
  const answer = await post('transfernft', body)
  expect(answer.status, JSON.stringify(answer.json)).toBe(200)
  return answer.json.response.transaction_gdn_id as string
}

const ended = (id: string) =>
  until(
    async () => (await call(backend, 'gettransactions', { transaction_gdn_ids: [id] })).transactions[0],
    (transaction) => transaction !== undefined && transaction.status !== 'initiated',
  )

const moveByWallet = (token: string, to: string) =>
  rpcOf(backend).send(wallet, collection.address, {
    functionName: 'transferFrom',
    args: [wallet.address, to as `0x${string}`, BigInt(token)],
  })

it.each([
  ['createnft', {}],
  ['creatednft', {}],
  ['createnfttrans', { sender_wallet_address: CAROL }],
])('getnfts returns the receiver_name of %s before and after the mint', async (endpoint, more) => {
  const answer = await post(endpoint, mintRequest(BOB, FAMILY, more))
  const id = idOf(answer)
  expect(answer.headers.get('receiver-names-supported')).toBe('yes')
  expect(answer.json.requests).toMatchObject({ receiver_wallet_address: BOB, receiver_name: FAMILY })
  expect(await shown(id)).toEqual([BOB, FAMILY])
  expect(await settled(backend, [id])).toMatchObject([{ status: 'deployed', receiver_name: FAMILY }])
})

it('an NFT without a name has no receiver_name', async () => {
  const id = idOf(await post('createnft', mintRequest(BOB, undefined)))
  expect((await showNfts(backend, [id]))[0]).not.toHaveProperty('receiver_name')
})

it('a repeated reference ID with the same name and another address returns the NFT, which keeps its address', async () => {
  const named = (address: string, name?: string) =>
    post('createnft', mintRequest(address, name, { reference_ids: ['moved'] }))
  const id = idOf(await named(ALICE, 'alice.eth'))
  const repeated = await named(BOB, 'alice.eth')
  expect(repeated.json.nfts).toEqual([expect.objectContaining({ nft_gdn_ids: id, created: false })])
  expect(await shown(id)).toEqual([ALICE, 'alice.eth'])
  for (const other of [await named(ALICE, 'bob.eth'), await named(ALICE)]) {
    expect([other.status, other.headers.get('error-code')]).toEqual([409, 'reference_id_conflict'])
  }
})

it('a repeated transfer to the same name and another address returns the first transfer', async () => {
  const request = { ...(await minted()), receiver_name: 'bob.eth', reference_id: 'transfer' }
  const id = await transfer({ ...request, receiver_wallet_address: BOB })
  expect(await transfer({ ...request, receiver_wallet_address: CAROL })).toBe(id)
  const other = await post('transfernft', { ...request, receiver_wallet_address: BOB, receiver_name: 'carol.eth' })
  expect([other.status, other.headers.get('error-code')]).toEqual([409, 'reference_id_conflict'])
  await ended(id)
  expect(await shown(request.nft_gdn_id)).toEqual([BOB, 'bob.eth'])
})

it('the name of a transfer applies once it is deployed, also to the same address and after a restart', async () => {
  const nft = await minted('alice.eth')
  const resume = await holdSigning(backend.dataDir, 'transfer')
  const first = await transfer({ ...nft, receiver_wallet_address: wallet.address, receiver_name: 'other.eth' })
  expect(await shown(nft.nft_gdn_id)).toEqual([wallet.address, 'alice.eth'])
  await resume()
  expect(await ended(first)).toMatchObject({ status: 'deployed' })
  expect(await shown(nft.nft_gdn_id)).toEqual([wallet.address, 'other.eth'])
  expect(await show(backend, `nfts/${nft.nft_gdn_id}`)).toMatchObject({ owner_name: 'other.eth' })
  await backend.close()
  backend = await backendForFile({ dataDir: backend.dataDir })
  expect(await shown(nft.nft_gdn_id)).toEqual([wallet.address, 'other.eth'])
  await ended(await transfer({ ...nft, receiver_wallet_address: wallet.address }))
  expect(await shown(nft.nft_gdn_id)).toEqual([wallet.address, undefined])
})

it('a failed transfer keeps the name of the owner', async () => {
  const owner = newWallet()
  const other = await createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true })
  const id = idOf(
    await backend.post('/api/v1/createnft', {
      ...mintRequest(wallet.address, 'alice.eth'),
      contract_address: other.address,
      blockchain: other.blockchain,
    }),
  )
  const [{ token_id } = {}] = await settled(backend, [id])
  const resume = await holdSigning(backend.dataDir, 'transfer')
  const transferId = await transfer({
    ...{ contract_address: other.address, nft_gdn_id: id, token_id, sender_wallet_address: wallet.address },
    ...{ receiver_wallet_address: BOB, receiver_name: 'bob.eth' },
  })
  await rpcOf(backend).send(owner, other.address, { functionName: 'setEnableTransfer', args: [false] })
  await resume()
  expect(await ended(transferId)).toMatchObject({ status: 'failed' })
  expect(await shown(id)).toEqual([wallet.address, 'alice.eth'])
})

it('a transfer by the wallet of the owner hides the name', async () => {
  const nft = await minted('alice.eth')
  expect(await moveByWallet(nft.token_id, BOB)).toBe('success')
  expect(await shown(nft.nft_gdn_id)).toEqual([BOB, undefined])
  expect(await show(backend, `nfts/${nft.nft_gdn_id}`)).toMatchObject({ owner: BOB, owner_name: null })
})

it.each(['alice', 'al ice.eth', 'alice.eth/x', 'alice\u001b.eth', `${'a'.repeat(252)}.eth`])(
  'rejects the receiver_name %j with 400',
  async (name) => {
    const { status, json } = await post('createnft', mintRequest(BOB, name))
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('receiver_name')])
  },
)
