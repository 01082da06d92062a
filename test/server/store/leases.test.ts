import { beforeEach, describe, expect, it } from 'vitest'
import { assignToTransactions, failClaimedNft, failNftsOfCollection } from '../../../src/server/state/nfts.ts'
import { passOnFiles } from '../../../src/server/state/pass-on-files.ts'
import { endTransaction } from '../../../src/server/state/transactions.ts'
import {
  claimUndeployedCollections,
  findCollectionById,
  postponeCollection,
} from '../../../src/server/store/collections.ts'
import { releaseLeases } from '../../../src/server/store/leases.ts'
import { claimFileWork, type FileWork, postponeFiles, readNextFilesDueAt } from '../../../src/server/store/nfts.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { claimSignedTransactions, reserveNonces } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'

const NOW = 1_800_000_000_000
const LEASE = 1000

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await insertAccountAndRequest(store.db, { accepted_at: NOW, endpoint: 'createnft' })
  await addCollection('c')
})

const passOn = async (claimed: FileWork, files: Record<string, string>) =>
  (await passOnFiles(store.db, [{ claimed, files }])).length > 0

const addCollection = (id: string) =>
  insertCollection(store.db, {
    id,
    contract_address: `0x${id}`,
    enable_transfer: 0,
    status: 'initiated',
    next_attempt_at: NOW,
  })

const addNfts = (count: number, step: 'files' | 'mint' = 'files') =>
  insertNfts(
    store.db,
    Array.from({ length: count }, (_, i) => ({
      id: `n${i}`,
      request_id: 'r',
      collection_id: 'c',
      receiver: WALLETS[1],
      metadata: '{}',
      status: 'initiated' as const,
      step,
      next_attempt_at: NOW,
    })),
  )

const addTransaction = (id: string, nonce: number, collection_id: string | null = null) =>
  insertTransaction(store.db, {
    id,
    blockchain: 'polygon',
    signer: '0xs',
    nonce,
    kind: 'mint',
    collection_id,
    token_count: 0,
    raw: '0x',
    hash: `0x${id}`,
    state: 'signed',
    created_at: NOW,
    next_attempt_at: NOW,
  })

const claimNfts = (now: number, limit = 10) => claimFileWork(store.db, 'nfts', { now, leaseMs: LEASE, limit })
const idsOf = (rows: readonly { id: string }[]) => rows.map((row) => row.id)
const nft = async (id: string) => store.db.selectFrom('nfts').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const first = <Row>(rows: readonly Row[]): Row => {
  const [row] = rows
  if (row === undefined) throw new Error('nothing was claimed')
  return row
}

describe('a claim of NFTs', () => {
  it('returns the oldest due NFTs up to the limit, and none twice', async () => {
    await addNfts(5)
    expect(idsOf(await claimNfts(NOW, 3)).sort()).toEqual(['n0', 'n1', 'n2'])
    expect(idsOf(await claimNfts(NOW, 3)).sort()).toEqual(['n3', 'n4'])
    expect(await claimNfts(NOW)).toEqual([])
  })

  it('skips NFTs that are not due yet', async () => {
    await addNfts(1)
    expect(await claimNfts(NOW - 1)).toEqual([])
    expect(await readNextFilesDueAt(store.db, 'nfts')).toBe(NOW)
  })

  it('returns a row whose lease has expired to the next worker', async () => {
    await addNfts(1)
    await claimNfts(NOW)
    expect(await claimNfts(NOW + LEASE - 1)).toEqual([])
    expect(idsOf(await claimNfts(NOW + LEASE))).toEqual(['n0'])
  })

  it('lets no worker write after it has lost its lease', async () => {
    await addNfts(1)
    const lost = first(await claimNfts(NOW))
    const claimed = first(await claimNfts(NOW + LEASE))
    const before = await nft('n0')
    expect(await passOn(lost, { image: 'x' })).toBe(false)
    expect(await failClaimedNft(store.db, lost, 'late')).toBe(false)
    expect(await postponeFiles(store.db, lost, { attempts: 9, nextAttemptAt: NOW + 9 })).toBe(false)
    expect(await nft('n0')).toEqual(before)
    expect(await passOn(claimed, { image: 'y' })).toBe(true)
    expect(await nft('n0')).toMatchObject({ step: 'mint', files: '{"image":"y"}', lease_until: 0, attempts: 0 })
  })

  it('passes on only the rows of a group whose claim was not lost', async () => {
    await addNfts(3)
    const claimed = await claimNfts(NOW)
    await failClaimedNft(store.db, first(claimed.slice(1)), 'too late')
    const group = claimed.map((one) => ({ claimed: one, files: { image: `of-${one.id}` } }))
    expect(idsOf(await passOnFiles(store.db, group))).toEqual(['n0', 'n2'])
    expect(await nft('n0')).toMatchObject({ step: 'mint', files: '{"image":"of-n0"}' })
    expect(await nft('n1')).toMatchObject({ step: 'done', status: 'failed' })
    expect(await nft('n2')).toMatchObject({ step: 'mint', files: '{"image":"of-n2"}' })
  })

  it('completes a step only once', async () => {
    await addNfts(1)
    const claimed = first(await claimNfts(NOW))
    await failClaimedNft(store.db, claimed, 'first')
    expect(await failClaimedNft(store.db, claimed, 'second')).toBe(false)
    expect(await nft('n0')).toMatchObject({ status: 'failed', step: 'done', error: 'first' })
  })

  it('rejects the result of a worker for an NFT that failed with its collection', async () => {
    await addNfts(1)
    const claimed = first(await claimNfts(NOW))
    await failNftsOfCollection(store.db, 'c', 'the collection failed')
    expect(await passOn(claimed, {})).toBe(false)
    expect(await nft('n0')).toMatchObject({ status: 'failed', error: 'the collection failed' })
  })

  it('returns a postponed NFT only once it is due', async () => {
    await addNfts(1)
    await postponeFiles(store.db, first(await claimNfts(NOW)), { attempts: 1, nextAttemptAt: NOW + 5000 })
    expect(await claimNfts(NOW + 4999)).toEqual([])
    expect(await claimNfts(NOW + 5000)).toMatchObject([{ id: 'n0', attempts: 1 }])
  })
})

describe('a claim of collections', () => {
  const claim = (now: number) => claimUndeployedCollections(store.db, 'polygon', { now, leaseMs: LEASE, limit: 10 })

  it('is exclusive until its lease ends', async () => {
    expect(idsOf(await claim(NOW))).toEqual(['c'])
    expect(await claim(NOW + LEASE - 1)).toEqual([])
    expect(idsOf(await claim(NOW + LEASE))).toEqual(['c'])
  })

  it("can't be postponed by a worker that lost its lease", async () => {
    const lost = first(await claim(NOW))
    await claim(NOW + LEASE)
    const before = await findCollectionById(store.db, 'c')
    await postponeCollection(store.db, lost, { attempts: 5, nextAttemptAt: NOW + 99_999 })
    expect(await findCollectionById(store.db, 'c')).toEqual(before)
  })
})

describe('a claim of signed transactions', () => {
  const claim = (now: number, limit = 10) =>
    claimSignedTransactions(store.db, 'polygon', { now, leaseMs: LEASE, limit })

  it('is in the order of nonces, lowest first', async () => {
    for (const nonce of [2, 0, 3, 1]) await addTransaction(`t${nonce}`, nonce)
    expect(idsOf(await claim(NOW, 3))).toEqual(['t0', 't1', 't2'])
    expect(idsOf(await claim(NOW, 3))).toEqual(['t3'])
  })

  it("can't be settled by a worker that lost its lease", async () => {
    await addTransaction('t0', 0)
    const lost = first(await claim(NOW))
    const claimed = first(await claim(NOW + LEASE))
    expect(await endTransaction(store.db, lost, { state: 'reverted' })).toBe(false)
    expect(await endTransaction(store.db, claimed, { state: 'final' })).toBe(true)
    expect(await endTransaction(store.db, claimed, { state: 'reverted' })).toBe(false)
    expect(await claim(NOW + 10 * LEASE)).toEqual([])
  })

  it('is limited by the database to one pending transaction per collection and per nonce', async () => {
    await addTransaction('t0', 0, 'c')
    await expect(addTransaction('t1', 1, 'c')).rejects.toThrow(/unique/i)
    await expect(addTransaction('t2', 0)).rejects.toThrow(/unique/i)
    await endTransaction(store.db, first(await claim(NOW)), { state: 'final' })
    await addTransaction('t1', 1, 'c')
  })
})

describe('nonces', () => {
  it('count up from 0 for each signer of each blockchain', async () => {
    const take = (blockchain: 'polygon' | 'astar', signer: string) => reserveNonces(store.db, blockchain, signer)
    expect([await take('polygon', 'x'), await take('polygon', 'x'), await take('polygon', 'y')]).toEqual([0, 1, 0])
    expect([await take('astar', 'x'), await take('polygon', 'x')]).toEqual([0, 2])
  })

  it('are reused without a gap if the database transaction is rolled back', async () => {
    await expect(
      store.transaction(async (db) => {
        await reserveNonces(db, 'polygon', 'x')
        throw new Error('signing failed')
      }),
    ).rejects.toThrow('signing failed')
    expect(await reserveNonces(store.db, 'polygon', 'x')).toBe(0)
  })
})

describe('NFTs of a batch', () => {
  it('are not counted if another batch has them, so that the caller rolls back', async () => {
    await addNfts(3, 'mint')
    const assign = (seqs: number[], transactionId: string) =>
      assignToTransactions(
        store.db,
        seqs.map((seq, index) => ({ seq, transactionId, index })),
      )
    expect(await assign([1, 2], 't0')).toBe(2)
    expect(await assign([2, 3], 't1')).toBe(1)
    expect(await nft('n1')).toMatchObject({ transaction_id: 't0', batch_index: 1 })
  })
})

describe('releaseLeases', () => {
  it("releases all leases of a dead process, whose workers can't write any more", async () => {
    await addNfts(1)
    await addTransaction('t0', 0)
    const claimed = first(await claimNfts(NOW))
    await claimSignedTransactions(store.db, 'polygon', { now: NOW, leaseMs: LEASE, limit: 1 })
    await releaseLeases(store)
    expect(await failClaimedNft(store.db, claimed, 'late')).toBe(false)
    expect(idsOf(await claimNfts(NOW))).toEqual(['n0'])
    expect(idsOf(await claimSignedTransactions(store.db, 'polygon', { now: NOW, leaseMs: LEASE, limit: 1 }))).toEqual([
      't0',
    ])
  })
})
