import { getAddress, type PrivateKeyAccount } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  showCollection,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  withStore,
} from '../../helpers/backend.ts'
import { type NetworkPlace, sendByWallet, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { startRpcFaultProxy } from '../../helpers/rpc-fault-proxy.ts'
import { type RpcProxy, type RpcProxyOptions, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { newWallet } from '../../helpers/rpc-wallets.ts'
import { seededRandom } from '../../helpers/seed.ts'

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let owner: PrivateKeyAccount
let holder: PrivateKeyAccount
const undo: (() => Promise<void>)[] = []

beforeEach(async () => {
  real = await startPublicNetwork()
  undo.push(() => real.close())
  place = await setUpNetwork(real)
  undo.push(() => place.remove())
  owner = newWallet()
  holder = newWallet()
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function start(): Promise<void> {
  backend = await place.start()
  const started = backend
  undo.push(() => started.close())
}

async function proxied(options: RpcProxyOptions) {
  const proxy = await startRpcProxy(real.url, options)
  undo.push(() => proxy.close())
  return proxy
}

/** Resolves after the backend has looked for a new block twice. */
async function untilPolled(proxy: RpcProxy): Promise<void> {
  const before = proxy.count('eth_getBlockByNumber')
  await until(
    () => proxy.count('eth_getBlockByNumber'),
    (count) => count >= before + 2,
  )
}

/** Creates a collection of `owner` with NFTs of `holder`, all deployed and final. */
async function minted(count = 1): Promise<{ collection: TestCollection; ids: string[] }> {
  const collection = await createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true })
  const ids = await mint(backend, collection, plainMetadata(count), { receiver: holder.address })
  await real.mineUntil(async () => (await showNfts(backend, ids)).every(({ status }) => status === 'deployed'))
  await real.mine(8)
  return { collection, ids }
}

const ownersOf = async (ids: readonly string[]) =>
  (await showNfts(backend, ids)).map(({ receiver_wallet_address: address }) => address)
const untilOwner = async (id: string, address: string, timeoutMs?: number) => {
  const [last] = await until(
    () => ownersOf([id]),
    ([at]) => at === address,
    timeoutMs,
  )
  expect(last).toBe(address)
}
const belongsTo = async (id: string, address: string) =>
  (
    await call(backend, 'getisgdnnft', {
      receiver_wallet_address: address,
      blockchain: 'polygon',
      nft_gdn_ids: [id],
    })
  ).response.isgdnnft
const move = (collection: TestCollection, from: PrivateKeyAccount, to: string, token = 1n) =>
  sendByWallet(real, from, collection.address, {
    functionName: 'transferFrom',
    args: [from.address, getAddress(to), token],
  })
const cursor = async () =>
  withStore(place.dataDir, ({ db }) =>
    db.selectFrom('owner_cursors').selectAll().orderBy('block_number', 'desc').limit(1).executeTakeFirst(),
  )
const head = async () => Number(await real.call<string>('eth_blockNumber'))
const untilFollowed = async () => {
  const top = await head()
  await until(cursor, (at) => (at?.block_number ?? -1) >= top)
}

describe('a token that its holder transfers by wallet', () => {
  it('has its new owner in getnfts and getisgdnnft', async () => {
    await start()
    const { collection, ids } = await minted(2)
    const [id = ''] = ids
    const other = newWallet()
    await move(collection, holder, other.address)
    await real.mine()
    await untilOwner(id, other.address)
    expect(await ownersOf(ids)).toEqual([other.address, holder.address])
    expect(await belongsTo(id, other.address)).toBe(true)
    expect(await belongsTo(id, holder.address)).toBe(false)
  })

  it('has its previous owner after a reorg, and the new one once it is mined again', async () => {
    await start()
    const { collection, ids } = await minted()
    const [id = ''] = ids
    const other = newWallet()
    const hash = await move(collection, holder, other.address)
    const raw = await real.call('eth_getRawTransactionByHash', [hash])
    await real.mine(2)
    await untilOwner(id, other.address)
    await real.reorg(2)
    await real.mine()
    await untilOwner(id, holder.address)
    expect(await belongsTo(id, holder.address)).toBe(true)
    await real.call('eth_sendRawTransaction', [raw]).catch(() => {})
    await real.mine()
    await untilOwner(id, other.address)
  })

  it('has its new owner on deployment if it was transferred before its mint was confirmed', async () => {
    await place.write({ urls: [real.url], more: { confirmations: 5 } })
    await start()
    const { collection } = await minted()
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: holder.address })
    await until(
      () => real.pool(),
      (pool) => pool.length > 0,
    )
    await real.mine()
    const other = newWallet()
    await move(collection, holder, other.address, 2n)
    await real.mine()
    await untilFollowed()
    expect((await showNfts(backend, [id]))[0]).toMatchObject({ status: 'initiated', token_id: null })
    await real.mineUntil(async () => (await showNfts(backend, [id]))[0]?.status === 'deployed')
    expect(await ownersOf([id])).toEqual([other.address])
  })
})

it("flag changes and an ownership transfer by the collection's owner are stored", async () => {
  await start()
  const { collection } = await minted()
  const heir = newWallet()
  await sendByWallet(real, owner, collection.address, { functionName: 'setEnableApi', args: [false] })
  await sendByWallet(real, owner, collection.address, { functionName: 'setEnableTransfer', args: [false] })
  await sendByWallet(real, owner, collection.address, { functionName: 'transferOwnership', args: [heir.address] })
  await sendByWallet(real, heir, collection.address, { functionName: 'acceptOwnership' })
  await real.mine()
  await until(
    () => showCollection(backend, collection.id),
    ({ wallet_address }) => wallet_address === heir.address,
  )
  expect(await showCollection(backend, collection.id)).toMatchObject({ enable_api: false, enable_transfer: false })
  await sendByWallet(real, heir, collection.address, { functionName: 'revokeService' })
  await real.mine()
  const revoked = () =>
    withStore(place.dataDir, ({ db }) => db.selectFrom('collections').select('revoked').executeTakeFirst())
  expect(await until(revoked, (row) => row?.revoked === 1)).toEqual({ revoked: 1 })
})

describe('requests for owner events', () => {
  it('are none without a collection, then at most one eth_getLogs per new block', async () => {
    const proxy = await proxied({})
    await place.write({ urls: [proxy.url] })
    await start()
    await untilPolled(proxy)
    expect(proxy.count('eth_getLogs')).toBe(0)
    await minted()
    await untilFollowed()
    const [logs, top] = [proxy.count('eth_getLogs'), await head()]
    for (let block = 0; block < 5; block++) {
      await real.mine()
      await untilFollowed()
    }
    await untilFollowed()
    expect(proxy.count('eth_getLogs') - logs).toBeLessThanOrEqual((await head()) - top)
    const before = proxy.count('eth_getLogs')
    await untilPolled(proxy)
    expect(proxy.count('eth_getLogs')).toBe(before)
  })

  it('start at the block of the first collection', async () => {
    await real.call('anvil_mine', ['0x1f4'])
    const proxy = await proxied({})
    await place.write({ urls: [proxy.url] })
    await start()
    await minted()
    await untilFollowed()
    const filters = proxy.calls.filter(({ method }) => method === 'eth_getLogs').map(({ params }) => params[0])
    expect(Math.min(...filters.map(({ fromBlock }) => Number(fromBlock)))).toBeGreaterThan(500)
    // Only our collections are requested.
    expect(new Set(filters.flatMap(({ address }) => address)).size).toBe(1)
  })
})

describe('after downtime', () => {
  /** Stops the backend, mines `blocks` with a transfer in the first, and starts it again with this provider. */
  async function away(blocks: number, urls: readonly string[]) {
    await start()
    const { collection, ids } = await minted()
    await untilFollowed()
    await backend.close()
    const other = newWallet()
    await move(collection, holder, other.address)
    await real.mine()
    await real.call('anvil_mine', [`0x${blocks.toString(16)}`])
    await place.write({ urls })
    await start()
    return { id: ids[0] ?? '', other: other.address }
  }

  it('stores missed transfers', async () => {
    const { id, other } = await away(20, [real.url])
    await untilOwner(id, other)
  })

  it.each([
    ['-32000', { code: -32000, message: 'exceed maximum block range: 100' }],
    ['-32005', { code: -32005, message: 'query returned more than 10000 results' }],
    ['-32600', { code: -32600, message: 'eth_getLogs is limited to a 100 range' }],
  ])('stores missed transfers from a provider with a limit of 100 blocks (%s)', async (_, error) => {
    const tooMany = ({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }) =>
      Number(toBlock) - Number(fromBlock) + 1 > 100
    const proxy = await proxied({
      answer: ({ method, params }) => (method === 'eth_getLogs' && tooMany(params[0]) ? { error } : undefined),
    })
    const { id, other } = await away(500, [proxy.url])
    await untilOwner(id, other)
    await untilFollowed()
    // The limit is found by halving and then kept.
    const refused = proxy.calls.filter(({ method, params }) => method === 'eth_getLogs' && tooMany(params[0])).length
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(5)
    expect(proxy.count('eth_getLogs')).toBeLessThan(25)
  })

  it('stores missed transfers from a provider that fails 30 % of requests', async () => {
    const { random } = seededRandom('shared owners')
    const faulty = await startRpcFaultProxy(real.url, { random, share: 0.3, silentMs: 100 })
    undo.push(() => faulty.close())
    const { id, other } = await away(300, [faulty.url])
    await untilOwner(id, other)
  })

  it('reverts a transfer that a reorg removed', async () => {
    await start()
    const { collection, ids } = await minted()
    const [id = ''] = ids
    const other = newWallet()
    await move(collection, holder, other.address)
    await real.mine(2)
    await untilOwner(id, other.address)
    await untilFollowed()
    await backend.close()
    await real.reorg(2)
    await real.mine(3)
    await start()
    await untilOwner(id, holder.address)
  })
})

describe('inconsistent nodes', () => {
  it('repeats a request whose blocks the responding node lacks', async () => {
    await start()
    const { collection, ids } = await minted()
    await untilFollowed()
    await backend.close()
    let behind = true
    const top = await head()
    // As with a load balancer: the newest block is from one node, the events from another that lacks it.
    const proxy = await proxied({
      answer: ({ method, params }) => {
        if (!behind) return undefined
        if (method === 'eth_getLogs') return { result: [] }
        if (method === 'eth_getBlockByNumber' && Number(params[0]) > top) return { result: null }
        return undefined
      },
    })
    const [id = ''] = ids
    const other = newWallet()
    await move(collection, holder, other.address)
    await real.mine(3)
    await place.write({ urls: [proxy.url] })
    await start()
    await until(
      () => proxy.count('eth_getLogs'),
      (count) => count > 1,
    )
    expect(await ownersOf([id])).toEqual([holder.address])
    expect((await cursor())?.block_number).toBe(top)
    behind = false
    await untilOwner(id, other.address)
  })
})
