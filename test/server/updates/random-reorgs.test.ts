/** @module-tag slow */
import { createPublicClient, getAddress, http } from 'viem'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { sleep } from '../../../src/core/time.ts'
import { createTestCollection, mint, showCollection, showNfts, type TestBackend, until } from '../../helpers/backend.ts'
import { type NetworkPlace, sendByWallet, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { newWallet } from '../../helpers/rpc-wallets.ts'
import { runs } from '../../helpers/runs.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { metadataOf, showTransaction, TOKEN_ABI, titleOnChain } from '../../helpers/updates.ts'

/** One block less than the depth of finality of the network. */
const DEEPEST = 5
const BLOCK_MS = 40
const STEPS = runs(60)
const WALLETS = [newWallet(), newWallet(), newWallet()]

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real, { signers: 2 })
  await place.write({ urls: [real.url], more: { stuck_seconds: 2 } })
  backend = await place.start()
})
afterAll(async () => {
  await backend?.close()
  await place?.remove()
  await real?.close()
})

interface Sent {
  id: string
  nft: string
  kind: 'update' | 'freeze' | 'burn' | 'transfer'
  title?: string
}

it('has what the chain has after updates, freezes, burns, transfers and reorgs in any order', async () => {
  const { random } = seededRandom('random reorgs')
  const anyOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  let stopMining = real.mineEvery(BLOCK_MS)
  onTestFinished(() => stopMining())
  const reader = createPublicClient({ transport: http(real.url) })
  const flags = { dynamic: true, enable_burn: true, enable_transfer: true }
  const collection = await createTestCollection(backend, flags)
  await until(
    () => showCollection(backend, collection.id),
    ({ status }) => status === 'deployed',
  )
  const titles = Array.from({ length: 10 }, (_, n) => metadataOf(`first ${n}`))
  const ids = await mint(backend, collection, titles, { receiver: WALLETS[0]?.address ?? '' })
  const all = () => showNfts(backend, ids)
  await until(all, (nfts) => nfts.every(({ status }) => status === 'deployed'))
  const sent: Sent[] = []
  const counts = { accepted: 0, refused: 0, reorgs: 0, byHolders: 0 }

  const post = async (kind: Sent['kind'], nft: string, body: object, title?: string) => {
    const endpoint = { update: 'updatednft', freeze: 'freezenft', burn: 'burnnft', transfer: 'transfernft' }[kind]
    const answer = await backend.post(`/api/v1/${endpoint}`, { contract_address: collection.address, ...body })
    if (answer.status === 503) return
    expect([200, 400], JSON.stringify(answer.json)).toContain(answer.status)
    if (answer.status === 400) {
      counts.refused++
      return
    }
    counts.accepted++
    sent.push({ id: answer.json.response.transaction_gdn_id, nft, kind, ...(title === undefined ? {} : { title }) })
  }
  for (let step = 0; step < STEPS; step++) {
    const nft = anyOf(ids)
    const [shownNft] = await showNfts(backend, [nft])
    const owner = shownNft?.receiver_wallet_address ?? ''
    const chance = random()
    const title = `step ${step}`
    if (chance < 0.5) await post('update', nft, { nft_gdn_id: nft, metadata: [metadataOf(title)] }, title)
    else if (chance < 0.54) await post('freeze', nft, { nft_gdn_ids: [nft] })
    else if (chance < 0.58) await post('burn', nft, { nft_gdn_id: nft, holder_wallet_address: owner })
    else if (chance < 0.7) {
      const parties = { sender_wallet_address: owner, receiver_wallet_address: anyOf(WALLETS).address }
      const token = { token_id: shownNft?.token_id, blockchain: 'polygon', nft_gdn_id: nft }
      await post('transfer', nft, { ...token, ...parties })
    } else if (chance < 0.74) {
      const holder = WALLETS.find(({ address }) => address === owner)
      const token = BigInt(shownNft?.token_id ?? 0)
      const to = anyOf(WALLETS).address
      if (holder !== undefined) {
        const isBurn = random() < 0.3
        await sendByWallet(real, holder, collection.address, {
          ...(isBurn
            ? { functionName: 'burn', args: [holder.address, token] }
            : { functionName: 'transferFrom', args: [holder.address, to, token] }),
        })
        counts.byHolders++
      }
    } else if (chance < 0.9) {
      // A block that anvil mines during a reorg leaves a gap in its chain.
      await stopMining()
      await real.reorg(1 + Math.floor(random() * DEEPEST))
      stopMining = real.mineEvery(BLOCK_MS)
      counts.reorgs++
    }
    await sleep(random() * 150)
  }

  const outcomes = async () => Promise.all(sent.map(({ id }) => showTransaction(backend, id)))
  const ended = await until(outcomes, (statuses) =>
    statuses.every((one) => one !== undefined && one.status !== 'initiated'),
  )
  // Until everything is final, and the owners are followed.
  const head = await reader.getBlockNumber({ cacheTime: 0 })
  await until(
    () => reader.getBlockNumber({ cacheTime: 0 }),
    (now) => now > head + 20n,
  )
  expect(await outcomes()).toEqual(ended)
  const contract = { address: getAddress(collection.address), abi: TOKEN_ABI }
  for (const nft of await all()) {
    const args = [BigInt(nft.token_id ?? '')] as const
    const owner = await reader.readContract({ ...contract, functionName: 'ownerOf', args }).catch(() => null)
    expect([nft.burned, owner], nft.nft_gdn_id).toEqual([
      owner === null,
      nft.burned ? null : nft.receiver_wallet_address,
    ])
    const mine = sent.flatMap((one, index) => (one.nft === nft.nft_gdn_id ? [{ ...one, end: ended[index] }] : []))
    const isFrozen = mine.some(({ kind, end }) => kind === 'freeze' && end?.status === 'deployed')
    expect(nft.is_frozen).toBe(isFrozen)
    for (const { kind, end } of mine) {
      if (end?.status !== 'failed' || kind === 'transfer' || kind === 'burn') continue
      expect(end.error).toMatch(/was burned/)
    }
    const updates = mine.filter(({ kind, end }) => kind === 'update' && end?.status === 'deployed')
    const title = (nft.request_metadata as { title: string }).title
    expect(title).toBe(updates.at(-1)?.title ?? `first ${ids.indexOf(nft.nft_gdn_id)}`)
    if (owner !== null) expect(await titleOnChain(backend, collection, nft, reader)).toBe(title)
  }
  report({ ...counts, failed: ended.filter((one) => one?.status === 'failed').length })
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})
