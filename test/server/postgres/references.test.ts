import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createnft } from '../../../src/api/endpoints/createnft.ts'
import { Secret } from '../../../src/core/secret.ts'
import { aliasReferences } from '../../../src/server/services/alias-references.ts'
import { createNftsService } from '../../../src/server/services/create-nfts.ts'
import { relabelReferences } from '../../../src/server/services/relabel-references.ts'
import type { ServiceDeps } from '../../../src/server/services/services.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { temporaryDataDir, WALLETS } from '../../helpers/backend.ts'
import { gate } from '../../helpers/gate.ts'
import { insertAccountAndRequest, insertCollection } from '../../helpers/rows.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

// Two stores stand for two processes. They share only the database.
let folder: string
let first: Store
let second: Store

beforeEach(async () => {
  folder = await temporaryDataDir()
  const url = new Secret((await databaseUrlOf(folder)) ?? '')
  first = await openPostgres({ url })
  second = await openPostgres({ url })
  await insertAccountAndRequest(first.db, { accepted_at: 1 })
  await insertCollection(first.db, { contract_address: CONTRACT, enable_transfer: 0, status: 'initiated' })
})
afterEach(() => Promise.all([first?.close(), second?.close()]))

let requests = 0

/** Sends a request to the process of this store. */
async function send(store: Store, references: readonly string[], title = 'Dawn', more: object = {}) {
  const metadata = references.map(() => ({ title, description: '', file_fields: [] }))
  const body = {
    ...{ contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: WALLETS[1] },
    ...{ metadata, reference_ids: references, ...more },
  }
  const deps = {
    ...{ store, now: () => 1, chains: { remote: new Map() }, pipeline: { onNftsAccepted() {} } },
    ...{ storage: null, checkedFiles: null, signedUrls: null },
  } as unknown as ServiceDeps
  const { response } = await createNftsService('createnft')(deps, {
    ...{ accountId: 'a', parsed: createnft.request.parse(body), body, idempotencyKey: null, run: null },
    requestId: `request-${requests++}`,
    origin: () => '',
  })
  return response.nfts.map(({ nft_gdn_ids, created }) => ({ id: nft_gdn_ids, created }))
}

const countNfts = async () => (await first.db.selectFrom('nfts').select('id').execute()).length

/** Resolves once this number of transactions is waiting for a lock. */
async function waitsForLock(count = 1): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_locks where not granted`.execute(first.db)
    if (rows.length >= count) return
  }
}

it('a reference ID that two processes accept simultaneously creates once: the second waits for the first', async () => {
  const hold = gate()
  const holding: Store = { ...first, onAccepted: hold.pass }
  const one = send(holding, ['b', 'a'])
  await hold.reached
  const other = send(second, ['a', 'c', 'b'])
  await waitsForLock()
  hold.open()
  const [created, found] = await Promise.all([one, other])
  expect(created.map((nft) => nft.created)).toEqual([true, true])
  expect(found).toEqual([
    { ...created[1], created: false },
    { id: expect.any(String), created: true },
    { ...created[0], created: false },
  ])
  expect(await countNfts()).toBe(3)
})

it('if the first process rolls back, the second creates', async () => {
  const hold = gate()
  const holding: Store = {
    ...first,
    async onAccepted() {
      await hold.pass()
      throw new Error('disk full')
    },
  }
  const one = expect(send(holding, ['a'])).rejects.toThrow('disk full')
  await hold.reached
  const other = send(second, ['a'])
  await waitsForLock()
  hold.open()
  await one
  expect(await other).toEqual([{ id: expect.any(String), created: true }])
  expect(await countNfts()).toBe(1)
})

it('another operation with a reference ID that the first process is accepting returns 409 and creates nothing', async () => {
  const hold = gate()
  const one = send({ ...first, onAccepted: hold.pass }, ['a'])
  await hold.reached
  const other = expect(send(second, ['new', 'a'], 'Dusk')).rejects.toMatchObject({ status: 409 })
  await waitsForLock()
  hold.open()
  await one
  await other
  expect(await countNfts()).toBe(1)
  expect(await send(second, ['new'])).toMatchObject([{ created: true }])
})

it('a reference ID that the first process is accepting under another label returns 409 and creates nothing', async () => {
  const hold = gate()
  const one = send({ ...first, onAccepted: hold.pass }, ['a'], 'Dawn', { reference_label: 'jan/drop.csv' })
  await hold.reached
  const other = send(second, ['b', 'a'], 'Dawn', { reference_label: 'feb/drop.csv' })
  await waitsForLock()
  hold.open()
  await expect(other).rejects.toMatchObject({
    status: 409,
    headers: { 'error-code': 'reference_label_conflict' },
    details: { conflicts: [{ reference_label: 'jan/drop.csv', request_label: 'feb/drop.csv' }] },
  })
  await one
  expect(await countNfts()).toBe(1)
})

it('of two processes that replace one label at once, the second gets 409', async () => {
  await send(first, ['a'], 'Dawn', { reference_label: 'old' })
  const relabelTo = (store: Store, reference_label: string) => {
    const body = {
      ...{ operation: 'createnft' as const, contract_address: CONTRACT, blockchain: 'polygon' as const },
      ...{ reference_ids: ['a'], replaces_label: 'old', reference_label },
    }
    const more = { idempotencyKey: null, run: null, requestId: 'r', origin: () => '' }
    return relabelReferences({ store }, { accountId: 'a', parsed: body, body, ...more })
  }
  const ends = await Promise.allSettled([relabelTo(first, 'b'), relabelTo(second, 'c')])
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

it('of two processes that pair equal NFTs differently at once, one gets 409, and no NFT has two aliases', async () => {
  const kinds = { reference_kinds: ['content', 'content'] }
  const nfts = (await send(first, ['a', 'b'], 'Dawn', kinds)).map(({ id }) => id)
  const pair = (store: Store, reference_ids: string[]) => {
    const body = {
      ...{ operation: 'createnft' as const, contract_address: CONTRACT, blockchain: 'polygon' as const },
      ...{ reference_ids, nft_gdn_ids: nfts },
    }
    const more = { idempotencyKey: null, run: null, requestId: 'r', origin: () => '' }
    return aliasReferences({ store }, { accountId: 'a', parsed: body, body, ...more })
  }
  for (const [n, orders] of [
    [
      ['1', '2'],
      ['2', '1'],
    ],
    [
      ['1', '3'],
      ['1', '4'],
    ],
  ].entries()) {
    const ends = await Promise.allSettled([first, second].map((store, at) => pair(store, orders[at] ?? [])))
    expect([n, ends.filter(({ status }) => status === 'fulfilled').length]).toEqual([n, n === 0 ? 1 : 0])
  }
  const { rows } = await sql<{ aliases: number }>`
    select count(*)::int as aliases from operation_references where kind = 'id'`.execute(first.db)
  expect(rows).toEqual([{ aliases: 2 }])
})

it('a failed operation is created again once, even if both processes have read that it failed', async () => {
  await send(first, ['a'])
  const change = { status: 'failed', step: 'done' } as never
  await first.db.updateTable('nfts').set(change).execute()
  const hold = gate()
  const reading = first.db.transaction().execute(async (db) => {
    await sql`select 1 from operation_references for share`.execute(db)
    await hold.pass()
  })
  await hold.reached
  const responses = [send(first, ['a']), send(second, ['a'])]
  await waitsForLock(2)
  hold.open()
  await reading
  const answers = (await Promise.all(responses)).flat()
  expect(answers.map(({ created }) => created).sort()).toEqual([false, true])
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  expect(await countNfts()).toBe(2)
})

it('a failed operation is created again once by simultaneous retries in several processes', async () => {
  const [failed] = await send(first, ['a'])
  const change = { status: 'failed', step: 'done' } as never
  await first.db.updateTable('nfts').set(change).execute()
  const hold = gate()
  const one = send({ ...first, onAccepted: hold.pass }, ['a'])
  await hold.reached
  const other = send(second, ['a'])
  await waitsForLock()
  hold.open()
  const [[retried], [found]] = await Promise.all([one, other])
  expect(retried).toMatchObject({ created: true })
  expect(retried?.id).not.toBe(failed?.id)
  expect(found).toEqual({ id: retried?.id, created: false })
  expect(await countNfts()).toBe(2)
})

it('processes that claim the same reference IDs in different orders create each once', async () => {
  const references = Array.from({ length: 40 }, (_, n) => `row-${n}`)
  const orders = Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? references : [...references].reverse()))
  const answers = await Promise.all(orders.map((order, n) => send(n % 3 === 0 ? second : first, order)))
  expect(answers.flat().filter(({ created }) => created)).toHaveLength(references.length)
  expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(references.length)
  expect(await countNfts()).toBe(references.length)
})
