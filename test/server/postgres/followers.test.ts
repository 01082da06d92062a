import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { claimFollower, releaseFollower } from '../../../src/server/store/followers.ts'
import { startWorker, type Worker } from '../../../src/server/worker.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  showNfts,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { type NetworkPlace, sendByWallet, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { type RpcProxy, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { newWallet } from '../../helpers/rpc-wallets.ts'
import { placeOf } from '../../helpers/test-database.ts'

let real: PublicNetwork
let place: NetworkPlace
const undo: (() => Promise<void>)[] = []

beforeEach(async () => {
  real = await startPublicNetwork()
  undo.push(() => real.close())
  place = await setUpNetwork(real)
  undo.push(() => place.remove())
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

interface Watched extends Worker {
  proxy: RpcProxy
}

/** A worker with a proxy that counts its requests to the network. */
async function worker(): Promise<Watched> {
  const dir = await freshDataDir()
  const proxy = await startRpcProxy(real.url)
  undo.push(dir.remove, () => proxy.close())
  await place.write({ urls: [proxy.url] })
  const settingsFile = join(place.dataDir, 'backend.yaml')
  const started = await startWorker({
    ...(await placeOf(place.dataDir)),
    dataDir: dir.path,
    settingsFile,
    allowPrivateFiles: true,
    version: '0.0.0-test',
    logLevel: 'info',
    logStream: { write() {} },
  })
  undo.push(() => started.close())
  return { ...started, proxy }
}

it('one of several workers follows a network, and another takes over when it stops', async () => {
  const backend: TestBackend = await place.start({ role: 'api' })
  undo.push(() => backend.close())
  const workers = [await worker(), await worker()]
  const holder = newWallet()
  const collection = await createTestCollection(backend)
  undo.push(real.mineEvery(50))
  const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: holder.address })
  await until(
    () => showNfts(backend, [id]),
    ([nft]) => nft?.status === 'deployed',
  )
  const move = async (to: string) => {
    await sendByWallet(real, holder, collection.address, {
      functionName: 'transferFrom',
      args: [holder.address, getAddress(to), 1n],
    })
    const [nft] = await until(
      () => showNfts(backend, [id]),
      ([one]) => one?.receiver_wallet_address === to,
    )
    expect(nft?.receiver_wallet_address).toBe(to)
  }
  const other = newWallet()
  await move(other.address)
  const asking = () => workers.filter(({ proxy }) => proxy.count('eth_getLogs') > 0)
  const [first] = asking()
  const before = first?.proxy.count('eth_getLogs') ?? 0
  await until(
    () => first?.proxy.count('eth_getLogs') ?? 0,
    (count) => count > before + 10,
  )
  expect(asking()).toEqual([first])
  await first?.close()
  await sendByWallet(real, other, collection.address, {
    functionName: 'transferFrom',
    args: [other.address, getAddress(WALLETS[2]), 1n],
  })
  await until(
    () => showNfts(backend, [id]),
    ([nft]) => nft?.receiver_wallet_address === WALLETS[2],
  )
  expect(asking()).toHaveLength(2)
})

it('the lease of a killed worker expires by the database’s clock, not before', async () => {
  await withStore(place.dataDir, async ({ db }) => {
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, n) => claimFollower(db, 'polygon', `w${n}`, 60_000)),
    )
    expect(claims.filter(Boolean)).toHaveLength(1)
    const holder = `w${claims.indexOf(true)}`
    expect(await claimFollower(db, 'polygon', holder, 60_000)).toBe(true)
    expect(await claimFollower(db, 'polygon', 'x', 300)).toBe(false)
    expect(await claimFollower(db, 'polygon', holder, 1)).toBe(true)
    await until(() => claimFollower(db, 'polygon', 'x', 60_000), Boolean)
    expect(await claimFollower(db, 'polygon', holder, 300)).toBe(false)
    // A worker can't release another worker's lease.
    await releaseFollower(db, 'polygon', holder)
    expect(await claimFollower(db, 'polygon', 'y', 300)).toBe(false)
    await releaseFollower(db, 'polygon', 'x')
    expect(await claimFollower(db, 'polygon', 'y', 300)).toBe(true)
  })
})
