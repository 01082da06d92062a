import { afterAll, expect, it } from 'vitest'
import { sleep } from '../../../src/core/time.ts'
import { freshDataDir, plainMetadata, until, WALLETS } from '../../helpers/backend.ts'
import { type ChildBackend, startedChild } from '../../helpers/backend-child.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { isSigned, startReceiver } from '../../helpers/webhook-receiver.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'

const long = process.env.GDN_SOAK === '1'
const KILLS = long ? 60 : 3
const NFTS_A_LIFE = long ? 60 : 40

const dataDir = await freshDataDir()
afterAll(() => dataDir.remove())

// biome-ignore lint/suspicious/noExplicitAny: responses are only read to continue
async function post({ url, apiKey }: ChildBackend, endpoint: string, body: object): Promise<any> {
  const response = await fetch(`${url}/api/v1/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(`${endpoint} answered ${response.status}`)
  return response.json()
}

it('delivers one event per NFT at least once although the backend is killed at any moment', async () => {
  const { random } = seededRandom('killed while it tells')
  // Responses are slow, so that requests are always in flight when the backend is killed.
  // From this one on, none gets a response until the backend is killed, so that it is sent again.
  let heldIndex = Number.POSITIVE_INFINITY
  const receiver = await startReceiver((response, _received, index) => {
    if (index < heldIndex - 1) setTimeout(() => response.end(), random() * 100)
  })
  let backend = await startedChild(dataDir.path)
  const { secret } = await makeWebhook(dataDir.path, receiver.url)
  const creation = await post(backend, 'createcollection', {
    ...{ wallet_address: WALLETS[0], name: 'T', blockchain: 'polygon' },
  })
  const id = creation.response.transaction_gdn_id
  const { collections } = await post(backend, 'getcollections', { transaction_gdn_ids: [id] })
  const order = { contract_address: collections[0].contract_address, blockchain: 'polygon' }
  const ids: string[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const metadata = plainMetadata(NFTS_A_LIFE)
    const answer = await post(backend, 'createnft', { ...order, receiver_wallet_address: WALLETS[1], metadata })
    ids.push(...answer.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids))
    // Half of the kills happen during deliveries, the others at any moment before.
    if (kill % 2 === 0) {
      heldIndex = receiver.received.length + 1 + Math.floor((random() * NFTS_A_LIFE) / 2)
      await until(
        async () => receiver.received.length,
        (count) => count >= heldIndex,
      )
    } else await sleep(random() * 900)
    await backend.kill('SIGKILL')
    heldIndex = Number.POSITIVE_INFINITY
    backend = await startedChild(dataDir.path)
  }
  const told = () => receiver.events().filter(({ type }) => type === 'nft.deployed')
  await until(
    async () => new Set(told().map(({ data }) => data.nft_gdn_id)).size,
    (count) => count === ids.length,
    long ? 600_000 : 60_000,
  )
  expect(new Set(told().map(({ data }) => data.nft_gdn_id))).toEqual(new Set(ids))
  // One event for each NFT, however often it was sent.
  expect(told()).toHaveLength(ids.length)
  expect(
    receiver
      .events()
      .map(({ type }) => type)
      .sort()[0],
  ).toBe('collection.deployed')
  expect(new Set(told().map(({ data }) => data.token_id)).size).toBe(ids.length)
  expect(receiver.received.every((one) => isSigned(secret, one))).toBe(true)
  expect(receiver.received.length).toBeGreaterThan(ids.length + 1)
  report({ kills: KILLS, nfts: ids.length, requests: receiver.received.length })
  await backend.kill('SIGTERM')
  await receiver.close()
})
