/** @module-tag slow */
import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../../src/core/time.ts'
import { releaseCollection } from '../../../src/server/admin/unknown-mints.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { whenTestDone } from '../../helpers/clean-up.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { sendByWallet, setUpNetwork } from '../../helpers/network-backend.ts'
import { startPublicNetwork } from '../../helpers/public-network.ts'
import { newWallet } from '../../helpers/rpc-wallets.ts'
import { runs } from '../../helpers/runs.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const [, BOB, CAROL] = WALLETS
/** One block less than the depth of finality of the network. */
const DEEPEST = 5
const BLOCK_MS = 40
/** Number of blocks after which what was mined before is final. */
const FINAL_BLOCKS = 13

const ABI = parseAbi([
  'function maxSupply() view returns (uint64)',
  'function nextTokenId() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
])

/** A backend with two signers on a network that mines until the test stops it. */
async function setup() {
  const real = await startPublicNetwork()
  whenTestDone(() => real.close())
  const place = await setUpNetwork(real, { signers: 2 })
  whenTestDone(place.remove)
  await place.write({ urls: [real.url], more: { stuck_seconds: 2 } })
  const owner = newWallet()
  const reader = createPublicClient({ transport: http(real.url, { retryCount: 0 }) })
  let backend = await place.start()
  whenTestDone(() => backend.close())
  let stopMining = real.mineEvery(BLOCK_MS)
  whenTestDone(() => stopMining())

  return {
    ...{ real, owner, dataDir: place.dataDir },
    get backend() {
      return backend
    },
    stopMining: () => stopMining(),
    startMining() {
      stopMining = real.mineEvery(BLOCK_MS)
    },
    /** A block that anvil mines during a reorg leaves a gap in its chain, so mining stops meanwhile. */
    async reorg(depth: number) {
      await stopMining()
      await real.reorg(depth)
      stopMining = real.mineEvery(BLOCK_MS)
    },
    async whileStopped<Result>(work: () => Promise<Result>): Promise<Result> {
      await backend.close()
      const result = await work()
      backend = await place.start()
      return result
    },
    async limited(max_supply?: number) {
      const rights = { enable_burn: true, enable_transfer: true, wallet_address: owner.address }
      const collection = await createTestCollection(backend, { max_supply, ...rights })
      await until(
        () => showCollection(backend, collection.id),
        ({ status }) => status === 'deployed',
      )
      return collection
    },
    lower: ({ address }: TestCollection, max: number) =>
      sendByWallet(real, owner, address, { functionName: 'setMaxSupply', args: [BigInt(max)] }),
    /** The supply on chain, at the newest block or at one that is final. */
    async onChain({ address }: TestCollection, at: 'latest' | 'final' = 'latest') {
      const head = await reader.getBlockNumber({ cacheTime: 0 })
      const blockNumber = at === 'latest' ? head : head - BigInt(DEEPEST)
      const read = (functionName: 'maxSupply' | 'nextTokenId') =>
        reader.readContract({ address: getAddress(address), abi: ABI, functionName, blockNumber })
      const [max, next] = await Promise.all([read('maxSupply'), read('nextTokenId')])
      return { max: Number(max), minted: Number(next) - 1 }
    },
    async untilMined(blocks: number) {
      const since = await reader.getBlockNumber({ cacheTime: 0 })
      await until(
        () => reader.getBlockNumber({ cacheTime: 0 }),
        (now) => now >= since + BigInt(blocks),
      )
    },
  }
}

type TestSetup = Awaited<ReturnType<typeof setup>>

const supplyOf = ({ backend }: TestSetup, { address }: TestCollection) =>
  call(backend, 'getsupply', { contract_address: address, blockchain: 'polygon' })

/** Requests NFTs of alternating kinds, each of which needs transactions of its own. */
async function request({ backend }: TestSetup, { address, blockchain }: TestCollection, kind: number, count: number) {
  const endpoint = ['createnft', 'creatednft', 'createnfttrans'][kind % 3] ?? ''
  const sender = endpoint === 'createnfttrans' ? { sender_wallet_address: BOB } : {}
  const body = { contract_address: address, blockchain, ...sender, receiver_wallet_address: CAROL }
  return await backend.post(`/api/v1/${endpoint}`, { ...body, metadata: plainMetadata(count) })
}

describe('on a network with reorgs', () => {
  it('mints the last NFT and accepts no other, with 16 mints in flight of two signers and reorgs', async () => {
    const place = await setup()
    const collection = await place.limited(40)
    await place.stopMining()
    const ids: string[] = []
    for (let kind = 0; ids.length < 40; kind++) {
      const { status, json } = await request(place, collection, kind, 2)
      expect(status).toBe(200)
      ids.push(...json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids))
    }
    expect(await request(place, collection, 0, 1)).toMatchObject({ status: 409 })
    const inFlight = () =>
      withStore(place.dataDir, ({ db }) =>
        db
          .selectFrom('transactions')
          .select('signer')
          .where('state', '=', 'signed')
          .where('kind', '<>', 'collection')
          .execute(),
      )
    await until(inFlight, (rows) => rows.length >= 16)
    place.startMining()
    for (const depth of [2, 5, 3, 5]) {
      await place.untilMined(8)
      await place.reorg(depth)
    }
    const nfts = await settled(place.backend, ids)
    expect(nfts.map(({ status }) => status)).toEqual(ids.map(() => 'deployed'))
    expect(nfts.map(({ token_id }) => Number(token_id)).sort((a, b) => a - b)).toEqual(ids.map((_, index) => index + 1))
    await place.untilMined(FINAL_BLOCKS)
    expect(await place.onChain(collection)).toEqual({ max: 40, minted: 40 })
    expect(await supplyOf(place, collection)).toMatchObject({ minted: 40, accepted: 0, left: 0 })
    expect(await request(place, collection, 0, 1)).toMatchObject({ status: 409 })
  })

  it('mints NFTs that a limit left out after a reorg has removed the limit, and fails them only once it is final', async () => {
    const place = await setup()
    const [collection, other] = [await place.limited(), await place.limited()]
    await settled(place.backend, await mint(place.backend, collection, plainMetadata(2)))
    await place.untilMined(FINAL_BLOCKS)
    await place.stopMining()
    const release = await holdSigning(place.dataDir, 'mint')
    const ids = await mint(place.backend, collection, plainMetadata(6))
    const lowering = await place.lower(collection, 5)
    await place.real.mine(3)
    await until(
      () => showCollection(place.backend, collection.id),
      ({ max_supply }) => max_supply === 5,
    )
    await release()
    // The mint of 3 of the 6 NFTs is signed; the others wait, because the limit isn't final.
    const steps = (of: readonly string[]) =>
      withStore(place.dataDir, ({ db }) =>
        db.selectFrom('nfts').select('step').where('id', 'in', of).orderBy('seq').execute(),
      )
    await until(
      () => steps(ids),
      (rows) => rows.filter(({ step }) => step === 'chain').length === 3,
    )
    // The others still wait when a later mint of another collection has passed the same step.
    const later = await mint(place.backend, other, plainMetadata(1))
    await until(
      () => steps(later),
      (rows) => rows[0]?.step === 'chain',
    )
    expect((await showNfts(place.backend, ids)).map(({ pending_reason }) => pending_reason).slice(3)).toEqual(
      Array(3).fill('the collection has reached its maximum supply of 5 NFTs, but its last mints are not final yet'),
    )
    expect((await steps(ids)).map(({ step }) => step)).toEqual(['chain', 'chain', 'chain', 'mint', 'mint', 'mint'])
    await place.real.reorg(3)
    await place.real.call('anvil_dropTransaction', [lowering])
    place.startMining()
    expect((await settled(place.backend, ids)).map(({ status }) => status)).toEqual(ids.map(() => 'deployed'))
    expect(await showCollection(place.backend, collection.id)).toMatchObject({ max_supply: null })

    const hold = await holdSigning(place.dataDir, 'mint')
    const more = await mint(place.backend, collection, plainMetadata(4))
    await place.lower(collection, 9)
    await until(
      () => showCollection(place.backend, collection.id),
      ({ max_supply }) => max_supply === 9,
    )
    await hold()
    const last = await settled(place.backend, more)
    expect(last.map(({ status }) => status)).toEqual(['deployed', 'failed', 'failed', 'failed'])
    expect(last[1]?.error).toBe('the collection already has its maximum supply of 9 NFTs')
    expect(await place.onChain(collection, 'final')).toEqual({ max: 9, minted: 9 })
  })

  it('cuts a signed mint that reverts because the owner has lowered the limit before it', async () => {
    const place = await setup()
    const collection = await place.limited(100)
    await settled(place.backend, await mint(place.backend, collection, plainMetadata(2)))
    await place.stopMining()
    const ids = await mint(place.backend, collection, plainMetadata(6))
    await until(
      () =>
        withStore(place.dataDir, ({ db }) =>
          db.selectFrom('transactions').select('id').where('state', '=', 'signed').execute(),
        ),
      (rows) => rows.length > 0,
    )
    // The owner pays more, so the change is executed before the mint in the same block.
    await place.lower(collection, 5)
    place.startMining()
    const nfts = await settled(place.backend, ids)
    expect(nfts.map(({ status }) => status)).toEqual([...Array(3).fill('deployed'), ...Array(3).fill('failed')])
    expect(await place.onChain(collection)).toEqual({ max: 5, minted: 5 })
    const states = await withStore(place.dataDir, ({ db }) =>
      db
        .selectFrom('transactions')
        .select(['state', 'token_count'])
        .where('kind', '=', 'mint')
        .orderBy('created_at')
        .execute(),
    )
    expect(states.map(({ state, token_count }) => [state, token_count])).toEqual([
      ['final', 2],
      ['reverted', 6],
      ['final', 3],
    ])
  })
})

it.each(Array.from({ length: runs(1) }, (_, index) => index + 1))(
  'mints no more than the limit in any order of requests, reorgs, lowered limits, burns and restores (%i)',
  async () => await schedule(60),
)

/** Does random things, then checks that each NFT was minted, or failed when the collection was full for good. */
async function schedule(steps: number): Promise<void> {
  const { random } = seededRandom('random supply')
  const place = await setup()
  const collection = await place.limited(40 + Math.floor(random() * 100))
  await place.untilMined(FINAL_BLOCKS)
  const counts = {
    accepted: 0,
    refused: 0,
    reorgs: 0,
    lowered: 0,
    burned: 0,
    restored: 0,
    dropped: 0,
    deployed: 0,
    failed: 0,
  }
  const ids: string[] = []
  let backup: string | null = null
  const release = () =>
    withStore(place.dataDir, (store) =>
      releaseCollection(store, collection.id, { failPending: false }).catch(() => null),
    )

  for (let step = 0; step < steps; step++) {
    const chance = random()
    if (chance < 0.5) {
      const answer = await request(place, collection, step, 1 + Math.floor(random() * 6))
      expect([200, 409, 503], JSON.stringify(answer.json)).toContain(answer.status)
      if (answer.status === 409) {
        expect(answer.headers.get('error-code')).toBe('max_supply')
        counts.refused++
      } else if (answer.status === 503) await release()
      else {
        ids.push(...answer.json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids))
        counts.accepted += answer.json.nfts.length
      }
    } else if (chance < 0.7) {
      await place.reorg(1 + Math.floor(random() * DEEPEST))
      counts.reorgs++
    } else if (chance < 0.78) {
      for (const hash of await place.real.pool()) {
        if (random() < 0.5) continue
        await place.real.call('anvil_dropTransaction', [hash])
        counts.dropped++
      }
    } else if (chance < 0.82) {
      const [nft] = ids.length === 0 ? [] : await showNfts(place.backend, ids.slice(0, 1))
      const burn = { contract_address: collection.address, nft_gdn_id: nft?.nft_gdn_id, holder_wallet_address: CAROL }
      if (nft?.status === 'deployed' && (await place.backend.post('/api/v1/burnnft', burn)).status === 200)
        counts.burned++
    } else if (chance < 0.88) {
      const { max, minted } = await place.onChain(collection)
      const to = minted + Math.floor(random() ** 4 * (max - minted))
      if (to > 0 && to < max) {
        await place.lower(collection, to)
        counts.lowered++
      }
    } else if (chance < 0.93 && backup === null) {
      backup = await place.whileStopped(() => backUp(place.dataDir))
    } else if (chance < 0.97 && backup !== null) {
      const file = backup
      await place.whileStopped(() => restore(place.dataDir, file))
      backup = null
      counts.restored++
    }
    await sleep(random() * 60)
  }

  const known = async () => {
    const shown = []
    for (let at = 0; at < ids.length; at += 100) shown.push(...(await showNfts(place.backend, ids.slice(at, at + 100))))
    return shown
  }
  const isOver = (nfts: Awaited<ReturnType<typeof known>>) => nfts.every(({ status }) => status !== 'initiated')
  await until(async () => {
    await release()
    return await known()
  }, isOver)
  await place.untilMined(FINAL_BLOCKS)
  // Nothing changes any more: a failed NFT stays failed, and no token appears.
  const nfts = await until(known, isOver)
  const { max, minted } = await place.onChain(collection, 'final')
  const deployed = nfts.filter(({ status }) => status === 'deployed')
  const failed = nfts.filter(({ status }) => status === 'failed')
  Object.assign(counts, { deployed: deployed.length, failed: failed.length })
  report({ ...counts, max, minted })
  expect(minted).toBeLessThanOrEqual(max)
  expect(new Set(deployed.map(({ token_id }) => token_id)).size).toBe(deployed.length)
  const unknown = await withStore(place.dataDir, ({ db }) =>
    db.selectFrom('unknown_mints').select('token_count').execute(),
  )
  const unknownTokens = unknown.reduce((sum, { token_count }) => sum + token_count, 0)
  expect(minted).toBe(deployed.length + unknownTokens)
  // What failed could not be minted any more.
  for (const { error } of failed) expect(error).toBe(`the collection already has its maximum supply of ${max} NFTs`)
  if (failed.length > 0) expect(minted).toBe(max)
  if (counts.lowered === 0 && counts.restored === 0) expect(failed).toEqual([])
  const supply = await supplyOf(place, collection)
  expect(supply).toMatchObject({ max_supply: max, minted, accepted: 0, left: max - minted })
}
