/** @module-tag slow */
import { zeroAddress } from 'viem'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { backendForFile, call, showNfts, type TestBackend, until, WALLETS } from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, metadataOf } from '../../helpers/updates.ts'

const [, BOB, CAROL] = WALLETS

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const post = (name: string, body: object) => backend.post(`/api/v1/${name}`, body)

const burn = (collection: { address: string }, id: string | undefined, holder: string = BOB) =>
  post('burnnft', { contract_address: collection.address, nft_gdn_id: id, holder_wallet_address: holder })

it('burns an NFT of its holder in a collection that was created for it, also a locked one', async () => {
  const { collection, ids, nfts } = await dynamicNfts(backend, ['a', 'b'], { enable_burn: true, is_locked: true })
  const answer = await burn(collection, ids[0])
  expect(answer.json).toEqual({
    requests: { contract_address: collection.address, nft_gdn_id: ids[0], holder_wallet_address: BOB },
    response: { transaction_gdn_id: expect.any(String), accepted_date: expect.any(String) },
  })
  expect(await ended(backend, answer.json.response.transaction_gdn_id)).toMatchObject({
    status: 'deployed',
    error: null,
  })
  const [burned, other] = await showNfts(backend, ids)
  expect(burned).toMatchObject({ burned: true, receiver_wallet_address: zeroAddress, status: 'deployed' })
  expect(other).toMatchObject({ burned: false, receiver_wallet_address: BOB })
  await expect(rpcOf(backend).ownerOf(collection.address, nfts[0]?.token_id)).rejects.toThrow()
  // Nothing can be done with it any more.
  expectRejected(await burn(collection, ids[0]), /the NFT was burned/)
  const body = { contract_address: collection.address, nft_gdn_id: ids[0], metadata: [metadataOf('b')] }
  expectRejected(await post('updatednft', body), /the NFT was burned/)
  expectRejected(
    await post('freezenft', { contract_address: collection.address, nft_gdn_ids: ids }),
    /the NFT was burned/,
  )
  expectRejected(
    await post('transfernft', {
      ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id: ids[0] },
      ...{ token_id: nfts[0]?.token_id, sender_wallet_address: BOB, receiver_wallet_address: CAROL },
    }),
    /the NFT was burned/,
  )
})

it('rejects a burn in a collection without enable_burn, also where transfers are on', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a'], { enable_transfer: true })
  expectRejected(await burn(collection, ids[0]), /created without enable_burn/)
})

it('rejects a burn of an NFT that another wallet holds', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a'], { enable_burn: true })
  expectRejected(await burn(collection, ids[0], CAROL), /does not own the NFT: its owner is/)
})

it('lets one of a burn and a transfer win, and tells the other', async () => {
  const more = { enable_transfer: true, enable_burn: true }
  const { collection, ids, nfts } = await dynamicNfts(backend, ['a', 'b'], more)
  const transfer = (at: number) =>
    post('transfernft', {
      ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id: ids[at] },
      ...{ token_id: nfts[at]?.token_id, sender_wallet_address: BOB, receiver_wallet_address: CAROL },
    })
  for (const at of [0, 1]) {
    const answers = await Promise.all([
      burn(collection, ids[at]),
      transfer(at),
      burn(collection, ids[at]),
      transfer(at),
    ])
    const accepted = answers.filter(({ status }) => status === 200)
    expect(accepted).toHaveLength(1)
    for (const refused of answers.filter(({ status }) => status !== 200)) expectRejected(refused, /is pending/)
    await ended(backend, accepted[0]?.json.response.transaction_gdn_id)
    const [nft] = await showNfts(backend, [ids[at] ?? ''])
    const isBurned = accepted[0]?.json.requests.holder_wallet_address !== undefined
    expect(nft).toMatchObject({ burned: isBurned, receiver_wallet_address: isBurned ? zeroAddress : CAROL })
  }
})

it('fails a burn when the holder has transferred the NFT first', async () => {
  const holder = newWallet()
  const { collection, ids, nfts } = await dynamicNfts(backend, ['a'], { enable_burn: true, receiver: holder.address })
  const letGo = await holdSigning(backend.dataDir, 'burn')
  const answer = await burn(collection, ids[0], holder.address)
  const args: [`0x${string}`, `0x${string}`, bigint] = [holder.address, CAROL, BigInt(nfts[0]?.token_id ?? 0)]
  await rpcOf(backend).send(holder, collection.address, { functionName: 'transferFrom', args })
  await letGo()
  expect(await ended(backend, answer.json.response.transaction_gdn_id)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining(`its owner is ${CAROL}`),
  })
})

it('shows an NFT as burned that its holder has burned', async () => {
  const holder = newWallet()
  const { collection, ids, nfts } = await dynamicNfts(backend, ['a'], { receiver: holder.address })
  const args: [`0x${string}`, bigint] = [holder.address, BigInt(nfts[0]?.token_id ?? 0)]
  expect(await rpcOf(backend).send(holder, collection.address, { functionName: 'burn', args })).toBe('success')
  await until(
    async () => (await showNfts(backend, ids))[0],
    (nft) => nft?.burned === true,
  )
  const answer = await call(backend, 'getisgdnnft', {
    ...{ receiver_wallet_address: holder.address, blockchain: 'polygon', nft_gdn_ids: ids },
  })
  expect(answer.response).toMatchObject({ isgdnnft: false })
})
