import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createOptimizeStep } from '../../../src/server/pipeline/optimize-step.ts'
import { lanesOf } from '../../../src/server/pipeline/signed-ahead.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import { freshDataDir } from '../../helpers/backend.ts'

let folder: Awaited<ReturnType<typeof freshDataDir>>
let store: Store
beforeEach(async () => {
  folder = await freshDataDir()
  store = await openStore(join(folder.path, 'gdn.db'))
})
afterEach(async () => {
  await store.close()
  await folder.remove()
})

const SIGNERS = (['0xA', '0xB'] as const).map((address) => ({
  address,
  sign: () => Promise.reject(new Error('no key')),
}))

const fill = (from: number, to: number) =>
  sql`insert into transactions (id, blockchain, signer, nonce, kind, token_count, raw, hash, state, created_at,
      next_attempt_at)
    with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
    select 't' || i, 'polygon', '0xA', i, 'mint', 1, '', 'h' || i, 'signed', 0, 0 from n`.execute(store.db)

/** The rows of the table, as the planner knows them: an estimate from a part of the index. */
async function knownRows(): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select max(cast(stat as integer)) as rows from sqlite_stat1 where tbl = 'transactions'`
    .execute(store.db)
    .catch(() => ({ rows: [] }))
  return rows[0]?.rows ?? 0
}

test('SQLite has statistics of a table that was filled, and new ones after it has grown', async () => {
  let now = 0
  const turn = createOptimizeStep(store, () => now)
  await fill(0, 100)
  await lanesOf(store.db, 'polygon', SIGNERS)
  await turn()
  expect(await knownRows()).toBe(101)
  await fill(101, 20_000)
  await lanesOf(store.db, 'polygon', SIGNERS)
  await turn()
  expect(await knownRows()).toBe(101)
  now += 10 * 60_000
  await turn()
  expect(await knownRows()).toBeGreaterThan(5000)
})

test('SQLite has statistics at the next start', async () => {
  await fill(0, 100)
  await lanesOf(store.db, 'polygon', SIGNERS)
  await store.close()
  store = await openStore(join(folder.path, 'gdn.db'))
  expect(await knownRows()).toBe(101)
})
