import { beforeEach, expect, it } from 'vitest'
import { createClockStep } from '../../../src/server/pipeline/clock-step.ts'
import { clampDueTimes } from '../../../src/server/store/due-times.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from '../../helpers/rows.ts'
import { isOnPostgres } from '../../helpers/test-database.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const TABLES = [
  ...(['nfts', 'collections', 'transactions', 'publications', 'webhooks'] as const),
  'webhook_deliveries',
] as const

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
})

/** Inserts a pending row into each table, due and leased until these times. */
async function addWaiting(next_attempt_at: number, lease_until: number): Promise<void> {
  const { db } = store
  const work = { next_attempt_at, lease_until }
  const signed = { blockchain: 'polygon' as const, raw: '', state: 'signed' as const, created_at: NOW, ...work }
  await insertAccountAndRequest(db, { accepted_at: NOW, endpoint: 'createnft' })
  await insertCollection(db, { contract_address: '0xc', enable_transfer: 0, status: 'initiated', ...work })
  const nft = { id: 'n', request_id: 'r', collection_id: 'c', receiver: WALLETS[1], metadata: '{}', ...work }
  await insertNfts(db, [{ ...nft, status: 'initiated', step: 'files' }])
  await db
    .insertInto('transactions')
    .values({ ...signed, id: 't', signer: 's', nonce: 0, kind: 'factory', token_count: 0, hash: '0x' })
    .execute()
  await db
    .insertInto('publications')
    .values({ target: 'node', cid: 'c', ...work })
    .execute()
  await db
    .insertInto('webhooks')
    .values({
      ...{ id: 'w', account_id: 'a', kind: 'url', url: '', events: '[]', secret: '', status: 'active' },
      ...{ created_at: NOW, expires_at: null, failing_since: null, ...work },
    })
    .execute()
  await db
    .insertInto('webhook_deliveries')
    .values({ webhook_id: 'w', event_id: 'e', state: 'waiting', next_attempt_at })
    .execute()
}

async function timesOf(table: (typeof TABLES)[number]) {
  const [row] = await store.db.selectFrom(table).selectAll().execute()
  const { next_attempt_at, lease_until } = row as { next_attempt_at: number; lease_until?: number }
  return { due: next_attempt_at, leased: lease_until ?? 0 }
}

it('makes rows due at once, and ends leases, that are later than any possible wait', async () => {
  await addWaiting(NOW + 30 * DAY, NOW + 30 * DAY)
  await clampDueTimes(store.db, NOW)
  for (const table of TABLES) expect([table, await timesOf(table)]).toEqual([table, { due: NOW, leased: 0 }])
})

it.skipIf(isOnPostgres())('moves due times back if the clock is set back while the process runs', async () => {
  let wall = NOW
  const step = createClockStep(
    store,
    () => wall,
    () => 0,
  )
  await step()
  await addWaiting(NOW + MINUTE, NOW + 2 * MINUTE)
  wall -= 45 * MINUTE
  await step()
  await step()
  for (const table of TABLES) {
    const leased = table === 'webhook_deliveries' ? 0 : wall + 2 * MINUTE
    expect([table, await timesOf(table)]).toEqual([table, { due: wall + MINUTE, leased }])
  }
})

it('keeps waits and leases of the maximum length', async () => {
  const [due, leased] = [NOW + MINUTE, NOW + 5 * MINUTE]
  await addWaiting(due, leased)
  await clampDueTimes(store.db, NOW)
  for (const table of TABLES) {
    const times = { due, leased: table === 'webhook_deliveries' ? 0 : leased }
    expect([table, await timesOf(table)]).toEqual([table, times])
  }
})
