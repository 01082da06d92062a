import { join } from 'node:path'
import { expect, it, onTestFinished, type TestContext } from 'vitest'
import { isDiskFull } from '../../../src/server/data-dir/disk-full.ts'
import { insertAccount } from '../../../src/server/store/accounts.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  startTestBackend,
  until,
  usedNonces,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { createSmallDisk, type SmallDisk } from '../../helpers/small-disk.ts'

/** The steps of an NFT in order. */
const STEPS = ['files', 'mint', 'chain', 'done']

async function smallDisk(kilobytes: number, context: TestContext): Promise<SmallDisk> {
  const disk = await createSmallDisk(kilobytes)
  if (typeof disk === 'string') return context.skip(disk)
  onTestFinished(() => disk.remove())
  return disk
}

it('reports a full disk with a hint at the start, and starts once there is space', async (context) => {
  const disk = await smallDisk(4096, context)
  const dataDir = join(disk.path, 'data')
  // The more space there is, the further the start gets before it fails.
  for (const kilobytes of [0, 8, 16, 32, 64]) {
    await disk.fill()
    await disk.leave(kilobytes)
    await expect(startTestBackend(dataDir)).rejects.toMatchObject({
      code: 'data_dir',
      message: `the disk of the data directory ${dataDir} is full`,
      hint: expect.stringMatching(/Free disk space, or .* --data-dir/),
    })
  }
  await disk.makeRoom()
  const backend = await startTestBackend(dataDir)
  const collection = await createTestCollection(backend)
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  expect(nft?.status).toBe('deployed')
  await backend.close()
})

it('returns 503 while the disk is full, and resumes once there is space', async (context) => {
  const disk = await smallDisk(16 * 1024, context)
  const dataDir = join(disk.path, 'data')
  let backend = await startTestBackend(dataDir)
  onTestFinished(() => backend.close())
  const collection = await createTestCollection(backend)
  await settled(backend, await mint(backend, collection, plainMetadata(3)))

  await disk.fill()
  const request = {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(200, 'x'.repeat(10_000)),
  }
  const refused = await backend.post('/api/v1/createnft', request)
  expect([refused.status, refused.headers.get('request-accepted')]).toEqual([503, 'no'])
  expect(refused.json).toEqual({
    error: { title: 'Service Unavailable', message: expect.stringMatching(/disk is full/) },
  })
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(1024 * 1024)]), 'a')
  const headers = { 'x-api-key': backend.apiKey.reveal() }
  const upload = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body: form })
  expect([upload.status, upload.headers.get('request-accepted')]).toEqual([503, 'no'])
  // Reads still succeed.
  const listing = { contract_addresses: collection.address, blockchain: 'polygon' }
  expect((await backend.post('/api/v1/getnftgdnids', listing)).json.nft_gdn_ids).toHaveLength(3)

  await disk.makeRoom()
  const nfts = await settled(backend, await mint(backend, collection, plainMetadata(5)))
  expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(['4', '5', '6', '7', '8'].map((id) => ['deployed', id]))
  expect((await backend.post('/api/v1/getnftgdnids', listing)).json.nft_gdn_ids).toHaveLength(8)

  await backend.close()
  backend = await startTestBackend(dataDir)
  const [last] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  expect(last?.token_id).toBe('9')
  for (const nonces of Object.values(await usedNonces(dataDir))) expect(nonces).toEqual(nonces.map((_, i) => i))
})

it('fails and rolls back all transactions that share a commit while the disk is full', async (context) => {
  const disk = await smallDisk(4096, context)
  const store = await openStore(join(disk.path, 'gdn.db'))
  onTestFinished(() => store.close())
  await disk.fill()
  const insert = (id: string, length: number) =>
    store.transaction((db) => insertAccount(db, { id, email: 'x'.repeat(length), created_at: 0 }))
  // Larger than the cache, so that the statement fails and not the commit.
  const outcomes = await Promise.allSettled([insert('a', 10), insert('b', 20_000_000), insert('c', 10)])
  for (const outcome of outcomes) {
    expect(outcome.status === 'rejected' && isDiskFull(outcome.reason)).toBe(true)
  }
  await disk.makeRoom()
  await insert('d', 10)
  expect(await store.db.selectFrom('accounts').select('id').execute()).toEqual([{ id: 'd' }])
})

it('loses no NFT if the disk fills up while minting', async (context) => {
  const disk = await smallDisk(16 * 1024, context)
  const dataDir = join(disk.path, 'data')
  let ahead = 0
  const backend = await startTestBackend(dataDir, { now: () => Date.now() + ahead })
  onTestFinished(() => backend.close())
  const collection = await createTestCollection(backend)
  const ids: string[] = []
  const stepsOf = async (of: readonly string[]) => {
    const rows = await withStore(dataDir, ({ db }) =>
      db.selectFrom('nfts').select('step').where('id', 'in', of).execute(),
    )
    return rows.map(({ step }) => step)
  }
  const failures = () => backend.log.filter((line) => line.includes('database or disk is full')).length
  for (const [index] of STEPS.entries()) {
    const added: string[] = []
    for (let i = 0; i < 4; i++) added.push(...(await mint(backend, collection, plainMetadata(20))))
    ids.push(...added)
    await until(
      () => stepsOf(added),
      (steps) => steps.some((step) => STEPS.indexOf(step) >= index),
      150_000,
      1,
    )
    const before = failures()
    await disk.fill()
    // Writes fail, unless there is nothing left to write.
    await until(
      async () => failures() > before || (await showNfts(backend, ids)).every(({ status }) => status === 'deployed'),
      Boolean,
    )
    await disk.makeRoom()
    // Leases that couldn't be released on the full disk expire after a minute.
    ahead += 61_000
  }
  const nfts = await settled(backend, ids)
  expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(ids.map((_, i) => ['deployed', String(i + 1)]))
})
