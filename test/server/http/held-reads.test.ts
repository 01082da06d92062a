/** @module-tag slow */
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHeldReads } from '../../../src/server/http/held-reads.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { makeKey } from '../../helpers/keys.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const looks = vi.hoisted(() => ({ count: 0 }))

vi.mock(import('../../../src/server/store/change-marker.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    changeMarker(db) {
      looks.count += 1
      return real.changeMarker(db)
    },
  }
})

/** Resolves when the requests that are held have been looked after twice. */
async function whenHeld(): Promise<void> {
  const before = looks.count
  await until(
    () => looks.count,
    (count) => count >= before + 2,
  )
}

let dataDir: string

beforeEach(async () => {
  dataDir = await temporaryDataDir()
})

describe('a held read', () => {
  let store: Store
  let reads: ReturnType<typeof createHeldReads>
  /** The state that lookups read. */
  let status = 'initiated'

  beforeEach(async () => {
    status = 'initiated'
    store = await openTestStore(dataDir)
    reads = createHeldReads(store.db, { perAccount: 2, total: 3 })
  })
  afterEach(async () => {
    reads.end()
    await store.close()
  })

  const client = () => Object.assign(new EventEmitter(), { destroyed: false }) as never as EventEmitter
  const read = ({ accountId = 'a', prefer = 'wait=10' as unknown, raw = client(), name = 'getnfts' as const } = {}) =>
    reads.read({ name, accountId, prefer, raw: raw as never, read: async () => ({ nfts: [{ status }] }) })
  /** What another connection writes, as another process does. */
  const write = (to: string) =>
    withStore(dataDir, async ({ db }) => {
      status = to
      await db
        .insertInto('accounts')
        .values({ id: to, email: `${to}@example.com`, created_at: 0 })
        .execute()
    })

  it('ends after a write of another process that leaves nothing pending', async () => {
    const reading = read()
    await whenHeld()
    await write('initiated')
    await whenHeld()
    await write('deployed')
    const { response, heldMs } = await reading
    expect(response).toEqual({ nfts: [{ status: 'deployed' }] })
    expect(heldMs).toBeLessThan(10_000)
  })

  it.each(['', 'wait=0', 'respond-async', 'nowait=5', 'wait=-1', 'wait=x'])(
    'ends at once with Prefer: %s',
    async (prefer) => {
      expect(await read({ prefer })).toEqual({ response: { nfts: [{ status }] }, heldMs: 0 })
    },
  )

  it.each(['wait=1', 'Wait=1', 'respond-async, wait=1', 'wait="1"; x=y'])(
    'ends when the time of Prefer: %s is over',
    async (prefer) => {
      const { response, heldMs } = await read({ prefer })
      expect(response).toEqual({ nfts: [{ status: 'initiated' }] })
      expect(heldMs).toBeGreaterThan(990)
    },
  )

  it('waits for no reads of another account', async () => {
    let reading = 0
    let proceed = () => {}
    const gate = new Promise<void>((resolve) => {
      proceed = resolve
    })
    const slow = reads.read({
      ...{ name: 'getnfts', accountId: 'slow', prefer: 'wait=10', raw: client() as never },
      async read() {
        reading += 1
        if (reading > 1) await gate
        return { nfts: [{ status }] }
      },
    })
    await until(
      () => reading,
      (count) => count > 1,
    )
    const other = read({ accountId: 'b' })
    await whenHeld()
    await write('deployed')
    expect((await other).heldMs).toBeLessThan(9000)
    proceed()
    expect((await slow).response).toEqual({ nfts: [{ status: 'deployed' }] })
  })

  it('has one of two places for an account, and one of three in total', async () => {
    const heldReads = [read(), read(), read({ accountId: 'b' })]
    await whenHeld()
    expect((await read()).heldMs).toBe(0)
    expect((await read({ accountId: 'b' })).heldMs).toBe(0)
    reads.end()
    for (const one of await Promise.all(heldReads)) expect(one.heldMs).toBeGreaterThan(0)
    expect((await read({ accountId: 'c' })).heldMs).toBe(0)
  })

  it('frees its place when the client disconnects', async () => {
    const raw = client()
    const heldReads = [read({ raw }), read()]
    await whenHeld()
    expect((await read()).heldMs).toBe(0)
    raw.emit('close')
    expect((await heldReads[0])?.heldMs).toBeLessThan(9000)
    heldReads.push(read())
    await whenHeld()
    reads.end()
    for (const one of await Promise.all(heldReads)) expect(one.heldMs).toBeGreaterThan(0)
    expect(raw.listenerCount('close')).toBe(0)
  })

  it('fails if it can no longer be read', async () => {
    let failure: Error | null = null
    const failing = async () => {
      if (failure !== null) throw failure
      return { nfts: [{ status }] }
    }
    const reading = reads.read({
      ...{ name: 'getnfts', accountId: 'a', prefer: 'wait=10', raw: client() as never },
      read: failing,
    })
    await whenHeld()
    failure = new Error('the disk is gone')
    const failed = expect(reading).rejects.toThrow('the disk is gone')
    await write('deployed')
    await failed
  })
})

describe('a backend', () => {
  let backend: TestBackend

  beforeEach(async () => {
    backend = await startTestBackend(dataDir)
  })
  afterEach(() => backend.close())

  const ask = (name: string, body: object, headers: Record<string, string> = {}) =>
    backend.post(`/api/v1/${name}`, body, { prefer: 'wait=10', ...headers })

  it('responds when the NFT, the collection and the transfer are final', async () => {
    const collection = await createTestCollection(backend, { enable_transfer: true })
    const { json: created } = await ask('getcollections', { transaction_gdn_ids: [collection.id] })
    expect(created.collections).toMatchObject([{ status: 'deployed' }])
    const ids = await mint(backend, collection, plainMetadata(2))
    const { json: minted, headers } = await ask('getnfts', { nft_gdn_ids: ids })
    expect(minted.nfts).toMatchObject([{ status: 'deployed' }, { status: 'deployed' }])
    expect(headers.get('prefer-wait-supported')).toBe('yes')
    const [nft_gdn_id] = ids
    const { json: accepted } = await backend.post('/api/v1/transfernft', {
      ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id, token_id: minted.nfts[0].token_id },
      ...{ sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[2] },
    })
    const { transaction_gdn_id } = accepted.response
    const { json: moved } = await ask('gettransactions', { transaction_gdn_ids: [transaction_gdn_id] })
    expect(moved.transactions).toMatchObject([{ status: 'deployed' }])
  })

  it('does not wait for NFTs of another account, and counts held time in no metric', async () => {
    const collection = await createTestCollection(backend)
    await ask('getcollections', { transaction_gdn_ids: [collection.id] })
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    const release = await holdSigning(dataDir, 'mint')
    const ids = await mint(backend, collection, plainMetadata(1))
    const stranger = await makeKey(dataDir)
    const before = looks.count
    expect((await ask('getnfts', { nft_gdn_ids: ids }, stranger.headers)).json.nfts).toEqual([])
    expect(looks.count).toBe(before)
    const { json } = await ask('getnfts', { nft_gdn_ids: ids }, { prefer: 'wait=2' })
    expect(json.nfts).toMatchObject([{ status: 'initiated' }])
    const metrics = await (await backend.get('/metrics')).text()
    const [, seconds] = /duration_seconds_sum\{[^}]*route="\/api\/v1\/getnfts"[^}]*\} ([\d.e-]+)/.exec(metrics) ?? []
    expect(Number(seconds)).toBeLessThan(2)
    await release()
  })

  it('responds to held requests at once when it stops', async () => {
    const collection = await createTestCollection(backend)
    await ask('getcollections', { transaction_gdn_ids: [collection.id] })
    const release = await holdSigning(dataDir, 'mint')
    const ids = await mint(backend, collection, plainMetadata(1))
    const heldRead = ask('getnfts', { nft_gdn_ids: ids })
    await whenHeld()
    const since = performance.now()
    const closed = backend.close()
    const { status, headers, json } = await heldRead
    expect([status, headers.get('connection'), json.nfts[0].status]).toEqual([200, 'close', 'initiated'])
    await closed
    // A request in flight delays a stop by 3 seconds.
    expect(performance.now() - since).toBeLessThan(2900)
    await release()
  })
})
