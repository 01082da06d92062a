import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { mintAddress } from '../../../src/server/chain/solana/mint-address.ts'
import { startWorker } from '../../../src/server/worker.ts'
import { createTestCollection, freshDataDir, mint, plainMetadata, showNfts, until } from '../../helpers/backend.ts'
import { clusterPlace } from '../../helpers/cluster-backend.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { startCluster } from '../../helpers/solana-cluster.ts'
import { placeOf } from '../../helpers/test-database.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

it('workers share a Solana cluster by URL, mint each NFT once, and the API process needs no key', {
  timeout: 180_000,
}, async () => {
  const cluster = await startCluster(40)
  undo.push(() => cluster.close())
  const place = await clusterPlace(cluster)
  undo.push(() => place.remove())
  await cluster.fund(place.signer, 10_000_000_000n)
  await place.setUp()
  const proxies = [
    await startRpcProxy(cluster.url, { batches: false }),
    await startRpcProxy(cluster.url, { batches: false }),
  ]
  undo.push(() => Promise.all(proxies.map((proxy) => proxy.close())))
  for (const proxy of proxies) {
    const dir = await freshDataDir()
    undo.push(dir.remove)
    await place.write({ urls: [proxy.url] })
    const worker = await startWorker({
      ...(await placeOf(place.dataDir)),
      dataDir: dir.path,
      settingsFile: join(place.dataDir, 'backend.yaml'),
      allowPrivateFiles: true,
      version: '0.0.0-test',
      logLevel: 'info',
      logStream: { write() {} },
    })
    undo.push(() => worker.close())
  }
  await place.write({ more: { signer: { keypair_file: 'nowhere.json' } } })
  const backend = await place.start({ role: 'api' })
  undo.push(() => backend.close())
  const collection = await createTestCollection(backend, SOLANA_COLLECTION)
  const receive = { receiver: solanaWallet('holder') }
  // Either worker may be the first to mint, so this continues until both have.
  const sent = () => proxies.map((proxy) => proxy.count('sendTransaction'))
  do {
    const requests = Array.from({ length: 6 }, () => mint(backend, collection, plainMetadata(10), receive))
    const ids = (await Promise.all(requests)).flat()
    const nfts = await until(
      () => showNfts(backend, ids),
      (all) => all.every(({ status }) => status !== 'initiated'),
      120_000,
    )
    expect(nfts.map(({ status, token_id }) => [status, token_id])).toEqual(
      ids.map((id) => ['deployed', mintAddress(place.signer, id)]),
    )
  } while (Math.min(...sent()) === 0)
})
