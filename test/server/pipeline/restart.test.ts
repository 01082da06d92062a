/** @module-tag slow */
import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { beforeAll, expect, it } from 'vitest'
import type { TransactionKind, TransactionState } from '../../../src/server/store/schema.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  usedNonces,
  withStore,
} from '../../helpers/backend.ts'

const ABI = parseAbi(['function totalSupply() view returns (uint256)'])

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const client = () => createPublicClient({ transport: http(`${backend.url}/rpc/polygon`, { retryCount: 0 }) })
const supplyOf = ({ address }: TestCollection) =>
  client().readContract({ address: getAddress(address), abi: ABI, functionName: 'totalSupply' })

const transactions = () =>
  withStore(backend.dataDir, ({ db }) => db.selectFrom('transactions').select(['kind', 'state']).execute())

async function restart(): Promise<void> {
  await backend.close()
  backend = await backendForFile({ dataDir: backend.dataDir })
}

it('repeated stops during a drop lose no NFT and mint none twice', async () => {
  const collection = await createTestCollection(backend)
  const ids: string[] = []
  // Each stop is at another stage: before the collection is created, when a batch is signed, when one is mined.
  const stages: [kind?: TransactionKind, state?: TransactionState][] = [[], ['collection'], ['mint'], ['mint', 'final']]
  for (const [kind, state] of [...stages, ...stages.slice(2)]) {
    const count = async () =>
      (await transactions()).filter((one) => one.kind === kind && one.state === (state ?? one.state)).length
    const before = kind === 'mint' ? await count() : 0
    for (let i = 0; i < 5; i++) ids.push(...(await mint(backend, collection, plainMetadata(4))))
    if (kind !== undefined) await until(count, (written) => written > before)
    await restart()
  }
  const nfts = await settled(backend, ids)
  expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(ids.map((_, i) => ['deployed', String(i + 1)]))
  expect(await supplyOf(collection)).toBe(120n)

  expect(new Set((await transactions()).map(({ state }) => state))).toEqual(new Set(['final']))
  for (const nonces of Object.values(await usedNonces(backend.dataDir))) expect(nonces).toEqual(nonces.map((_, i) => i))
})

it('the chain has the same block hashes and token supply after a restart', async () => {
  const collection = await createTestCollection(backend)
  await settled(backend, await mint(backend, collection, plainMetadata(5)))
  const height = await client().getBlockNumber()
  const hashes = async () => {
    const blocks = []
    for (let n = 0n; n <= height; n++) blocks.push((await client().getBlock({ blockNumber: n })).hash)
    return blocks
  }
  const before = await hashes()
  await restart()
  expect(await client().getBlockNumber()).toBe(height)
  expect(await hashes()).toEqual(before)
  expect(await supplyOf(collection)).toBe(5n)
})

it('the key, the collections and the NFTs are the same after a restart', async () => {
  const collection = await createTestCollection(backend)
  const ids = await mint(backend, collection, plainMetadata(2))
  const before = await settled(backend, ids)
  const key = backend.apiKey.reveal()
  await restart()
  expect(backend.apiKey.reveal()).toBe(key)
  expect(await settled(backend, ids)).toEqual(before)
})

it('a second collection after a restart uses the existing factory', async () => {
  await restart()
  const collection = await createTestCollection(backend)
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  expect(nft?.token_id).toBe('1')
  expect((await transactions()).filter(({ kind }) => kind === 'factory')).toHaveLength(1)
})

it('NFTs leased by a dead worker are processed at the next start', async () => {
  const collection = await createTestCollection(backend)
  const stuck = { title: 't', description: '', file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/a.png' }] }
  const [id = ''] = await mint(backend, collection, stuck)
  await backend.close()
  const lease = { lease_until: Date.now() + 3_600_000, next_attempt_at: 0, attempts: 7 }
  await withStore(backend.dataDir, ({ db }) => db.updateTable('nfts').set(lease).where('id', '=', id).execute())
  backend = await backendForFile({ dataDir: backend.dataDir })
  const [nft] = await settled(backend, [id])
  // The eighth attempt is the last.
  expect(nft).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/refused the connection \(tried 8 times\)/),
  })
})

it('the log contains no API key', () => {
  expect(backend.log.join('')).not.toContain(backend.apiKey.reveal())
})
