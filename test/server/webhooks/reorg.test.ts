/** @module-tag slow */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, createTestCollection, mint, plainMetadata, showNfts, until, WALLETS } from '../../helpers/backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { CONFIRMATIONS, type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'
import { type Receiver, startReceiver } from '../../helpers/webhook-receiver.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'

let real: PublicNetwork
let remote: RemoteBackend
let receiver: Receiver

beforeAll(async () => {
  real = await startPublicNetwork()
  remote = await startRemoteBackend(real, { stuckMs: 1500 })
  receiver = await startReceiver()
  await makeWebhook(remote.dataDir, receiver.url)
})
afterAll(async () => {
  await remote?.close()
  await receiver?.close()
  await real?.close()
})

const told = (type: string) => receiver.events().filter((event) => event.type === type)

it('sends another event for an NFT that is deployed again after a reorg', async () => {
  const { backend } = remote
  const collection = await createTestCollection(backend, { enable_transfer: true })
  await remote.minedUntil(
    async () => told('collection.deployed'),
    (all) => all.length === 1,
  )
  const [id = ''] = await mint(backend, collection, plainMetadata(1))
  await until(
    () => real.pool(),
    (pool) => pool.length === 1,
  )
  // Exactly as deep as needed for the reorg to revert it.
  await real.mine(CONFIRMATIONS)
  const [nft] = await until(
    () => showNfts(backend, [id]),
    ([now]) => now?.status === 'deployed',
  )

  await real.reorg(CONFIRMATIONS + 1)
  // Nothing is mined in between, since the NFT could be deployed again unnoticed.
  const [undone] = await until(
    () => showNfts(backend, [id]),
    ([now]) => now?.status === 'initiated',
  )
  expect(undone?.status).toBe('initiated')
  const events = await remote.minedUntil(
    async () => told('nft.deployed'),
    (all) => all.length === 2,
  )
  expect(events.map(({ data }) => data.nft_gdn_id)).toEqual([id, id])
  expect(new Set(events.map((event) => event.id)).size).toBe(2)
  // The pending state in between caused no event.
  expect(receiver.events().map(({ data }) => data.status)).toEqual(receiver.events().map(() => 'deployed'))
  const transfer = {
    ...{ contract_address: collection.address, token_id: nft?.token_id, blockchain: 'polygon', nft_gdn_id: id },
    ...{ sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[2] },
  }
  await call(backend, 'transfernft', transfer)
  await remote.minedUntil(
    async () => told('transfer.deployed'),
    (all) => all.length === 1,
  )
  expect(told('transfer.deployed')).toHaveLength(1)
})
