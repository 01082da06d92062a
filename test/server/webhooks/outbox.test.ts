/** @module-tag slow */
import { beforeEach, describe, expect, it } from 'vitest'
import { createWebhookStep } from '../../../src/server/pipeline/webhooks/webhook-step.ts'
import { deployCollection, failCollection, withdrawCollection } from '../../../src/server/state/collections.ts'
import {
  deployNfts,
  failBundle,
  failClaimedNft,
  failFreshNfts,
  failGrantsOfCollection,
  failNftsOfCollection,
  requeueBundle,
} from '../../../src/server/state/nfts.ts'
import { endTransfer, withdrawTransfer } from '../../../src/server/state/transfers.ts'
import { updateCollection } from '../../../src/server/store/collections.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import type { Db, NftStep } from '../../../src/server/store/schema.ts'
import { deleteOldEvents, listDueDeliveries, recordAttempt } from '../../../src/server/store/webhook-deliveries.ts'
import {
  claimWebhooks,
  insertWebhook,
  removeWebhookRow,
  updateClaimedWebhook,
} from '../../../src/server/store/webhooks.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertCollection, insertNfts, insertTransaction, insertTransfer } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

const [ALICE, BOB, CAROL] = WALLETS
const NOW = Date.now()

let store: Store

const webhook = (id: string, account_id: string, more: object = {}) =>
  insertWebhook(store.db, {
    ...{ id, account_id, kind: 'url', url: 'https://example.com', events: '["*"]', secret: 's', status: 'active' },
    ...{ created_at: NOW, expires_at: null, failing_since: null, ...more },
  })

const nft = (id: string, step: NftStep, more: object = {}) => ({
  ...{ id, request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{"title":"x"}', next_attempt_at: NOW },
  ...{ status: 'initiated' as const, step, transaction_id: step === 'chain' ? 't' : null, batch_index: 0, ...more },
})

beforeEach(async () => {
  store = await temporaryStore()
  for (const id of ['a', 'b']) {
    await store.db
      .insertInto('accounts')
      .values({ id, email: `${id}@example.com`, created_at: NOW })
      .execute()
  }
  const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  await insertRequest(store.db, { ...request, accepted_at: NOW })
  await insertCollection(store.db, {
    contract_address: CAROL,
    status: 'initiated',
    next_token_id: '2',
    next_attempt_at: NOW,
  })
  await insertNfts(store.db, [
    nft('files', 'files'),
    nft('mint', 'mint', { sender: BOB }),
    nft('chain', 'chain'),
    nft('done', 'done', { status: 'deployed', owner: BOB, token_id: '1' }),
    nft('failed', 'done', { status: 'failed', error: 'long ago' }),
  ])
  await insertTransaction(store.db, {
    ...{ id: 't', blockchain: 'polygon', signer: ALICE, nonce: 0, kind: 'mint', collection_id: 'c', start_id: '5' },
    ...{ token_count: 1, directory: 'cid', raw: '0x', hash: '0xaa', state: 'signed' },
    ...{ created_at: NOW, next_attempt_at: NOW },
  })
  await insertTransfer(store.db, {
    ...{ id: 'x', request_id: 'r', collection_id: 'c', nft_id: 'done', blockchain: 'polygon', sender: BOB },
    ...{ receiver: ALICE, status: 'initiated', error: null, transaction_id: 'tx' },
  })
  await webhook('mine', 'a')
  await webhook('theirs', 'b')
})

interface Told {
  type: string
  data: { nft_gdn_id?: string; transaction_gdn_id?: string; error?: string }
}

async function told(id = 'mine', db = store.db): Promise<Told[]> {
  return (await listDueDeliveries(db, id, Date.now(), 100)).map(({ body }) => JSON.parse(body) as Told)
}
const subjects = async (db = store.db) =>
  (await told('mine', db)).map(({ type, data }) => `${type} ${data.transaction_gdn_id ?? data.nft_gdn_id}`).sort()

const claimed = async (db: Db, id: string) =>
  db.selectFrom('nfts').select(['id', 'seq', 'generation']).where('id', '=', id).executeTakeFirstOrThrow()

describe('writes events of final status changes only for webhooks of the account', () => {
  const CHANGES: Record<string, [(db: Db) => Promise<unknown>, string[]]> = {
    'a batch is deployed': [(db) => deployNfts(db, ['t']), ['nft.deployed chain']],
    'a bundle fails': [(db) => failBundle(db, 't', 'why'), ['nft.failed chain']],
    'a bundle must be signed again': [(db) => requeueBundle(db, 't'), []],
    'a file is unavailable': [
      async (db) => failClaimedNft(db, await claimed(db, 'files'), 'why'),
      ['nft.failed files'],
    ],
    'a file is unavailable, reported by a worker that lost its lease': [
      async (db) => failClaimedNft(db, { ...(await claimed(db, 'files')), generation: 9 }, 'why'),
      [],
    ],
    'all pending NFTs of a collection fail': [
      (db) => failNftsOfCollection(db, 'c', 'why'),
      ['nft.failed chain', 'nft.failed files', 'nft.failed mint'],
    ],
    'all pending grants of a collection fail': [(db) => failGrantsOfCollection(db, 'c', 'why'), ['nft.failed mint']],
    'a collection is deployed': [(db) => deployCollection(db, 'c'), ['collection.deployed c']],
    'a collection fails': [
      (db) => failCollection(db, 'c', 'why'),
      ['collection.failed c', 'nft.failed chain', 'nft.failed files', 'nft.failed mint'],
    ],
    'a collection changes in another way': [(db) => updateCollection(db, 'c', { next_token_id: '9' }), []],
    'a collection is reverted': [(db) => withdrawCollection(db, 'c'), []],
    'a transfer is done': [(db) => endTransfer(db, 'x', { status: 'deployed' }), ['transfer.deployed x']],
    'a transfer fails': [(db) => endTransfer(db, 'x', { status: 'failed', error: 'why' }), ['transfer.failed x']],
  }

  it('for each change, and none if its transaction is rolled back', { tags: ['promise'] }, async () => {
    for (const [what, [change, expected]] of Object.entries(CHANGES)) {
      const rolledBack = store.transaction(async (db) => {
        await change(db)
        expect(await subjects(db), what).toEqual(expected)
        expect(await told('theirs', db)).toEqual([])
        for (const { type, data } of await told('mine', db)) {
          expect(data.error).toBe(type.endsWith('.failed') ? 'why' : undefined)
        }
        throw new Error('on purpose')
      })
      await expect(rolledBack).rejects.toThrow('on purpose')
      expect(await told(), what).toEqual([])
    }
  })

  it('new NFTs fail by fault injection', async () => {
    await store.db.deleteFrom('nfts').where('id', '=', 'failed').execute()
    await store.transaction((db) => failFreshNfts(db, 'r', 'why'))
    expect(await subjects()).toEqual(['nft.failed files', 'nft.failed mint'])
  })

  it('a transfer is reverted and deployed again: two events', async () => {
    await store.transaction((db) => endTransfer(db, 'x', { status: 'deployed' }))
    await store.transaction((db) => withdrawTransfer(db, 'tx'))
    expect(await subjects()).toEqual(['transfer.deployed x'])
    await store.transaction((db) => endTransfer(db, 'x', { status: 'deployed' }))
    expect(await subjects()).toEqual(['transfer.deployed x', 'transfer.deployed x'])
  })

  it('a collection is already deployed: no second event', async () => {
    await store.transaction((db) => deployCollection(db, 'c'))
    await store.transaction((db) => deployCollection(db, 'c'))
    expect(await subjects()).toEqual(['collection.deployed c'])
  })

  it('no event for a disabled webhook or an expired listener', async () => {
    await webhook('disabled', 'a', { status: 'disabled' })
    await webhook('gone', 'a', { kind: 'listener', expires_at: NOW - 1 })
    await webhook('there', 'a', { kind: 'listener', expires_at: NOW + 60_000 })
    await store.transaction((db) => failBundle(db, 't', 'why'))
    const heard = []
    for (const id of ['disabled', 'gone', 'there', 'mine']) heard.push((await told(id)).length)
    expect(heard).toEqual([0, 0, 1, 1])
  })
})

describe('a webhook is leased to one process', () => {
  const claim = (now: number) => claimWebhooks(store.db, { now, leaseMs: 10_000, limit: 10 })

  it('while events are pending, until the lease ends; later writes by that process fail', async () => {
    expect(await claim(NOW + 1)).toEqual([])
    await store.transaction((db) => failBundle(db, 't', 'why'))
    const [first] = await claim(NOW + 1)
    expect(first?.id).toBe('mine')
    expect(await claim(NOW + 9000)).toEqual([])
    const [second] = await claim(NOW + 10_001)
    expect(second).toMatchObject({ id: 'mine', generation: (first?.generation ?? 0) + 1 })
    if (first === undefined || second === undefined) throw new Error('nothing was claimed')
    expect(await updateClaimedWebhook(store.db, first, { failures: 7 })).toBe(false)
    expect(await updateClaimedWebhook(store.db, second, { lease_until: 0, next_attempt_at: NOW + 60_000 })).toBe(true)
    expect(await claim(NOW + 20_000)).toEqual([])
    expect(await claim(NOW + 60_000)).toHaveLength(1)
  })

  it('a webhook is leased to one process even if several claim it at once', async () => {
    await store.transaction((db) => failBundle(db, 't', 'why'))
    const all = await Promise.all(Array.from({ length: 8 }, () => claim(NOW + 1)))
    expect(all.flat().map(({ id }) => id)).toEqual(['mine'])
  })
})

it('removes old events, except pending ones', async () => {
  await store.transaction((db) => failNftsOfCollection(db, 'c', 'why'))
  const [first] = await listDueDeliveries(store.db, 'mine', Date.now(), 1)
  if (first === undefined) throw new Error('nothing was told')
  await recordAttempt(store.db, first, { state: 'delivered' })
  expect(await deleteOldEvents(store.db, NOW - 1000, NOW, 10)).toBe(false)
  const events = async () => (await store.db.selectFrom('webhook_events').select('id').execute()).length
  expect(await events()).toBe(3)
  expect(await deleteOldEvents(store.db, Date.now() + 1000, NOW, 1)).toBe(true)
  expect(await deleteOldEvents(store.db, Date.now() + 1000, NOW, 1)).toBe(false)
  expect([await events(), (await told()).length]).toEqual([2, 2])
})

it('removes events pending for removed webhooks and listeners only', async () => {
  await webhook('listener', 'a', { kind: 'listener', expires_at: NOW + 60_000 })
  await store.transaction((db) => failNftsOfCollection(db, 'c', 'why'))
  // As if another transaction removed it while the event was written.
  await store.db.deleteFrom('webhooks').where('id', '=', 'mine').execute()
  const left = async (now: number) => {
    await deleteOldEvents(store.db, now, now, 10)
    const rows = await store.db.selectFrom('webhook_deliveries').select('webhook_id').execute()
    return [...new Set(rows.map(({ webhook_id }) => webhook_id))]
  }
  expect(await left(NOW)).toEqual(['listener'])
  expect(await left(NOW + 60_000)).toEqual([])
  expect(await store.db.selectFrom('webhooks').select('id').execute()).toEqual([{ id: 'theirs' }])
  expect(await store.db.selectFrom('webhook_events').select('id').execute()).toEqual([])
})

it('removes old events even if the last webhook has been removed', async () => {
  await store.transaction((db) => failNftsOfCollection(db, 'c', 'why'))
  for (const id of ['mine', 'theirs']) await removeWebhookRow(store.db, id)
  const nobody = { post: () => Promise.reject(new Error('nothing is sent')), close: async () => {} }
  let now = NOW
  const step = createWebhookStep({ store, poster: nobody, now: () => now, log: SILENT_LOG, onAttempt() {} })
  const events = async () => {
    await step.turn()
    return (await store.db.selectFrom('webhook_events').select('id').execute()).length
  }
  expect(await events()).toBe(3)
  now += 6 * 24 * 3_600_000
  expect(await events()).toBe(3)
  now += 2 * 24 * 3_600_000
  expect(await events()).toBe(0)
  await step.stop()
})
