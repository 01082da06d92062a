import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readSignerCapacities } from '../../../src/server/pipeline/evm/signer-pool.ts'
import { createOptimizeStep } from '../../../src/server/pipeline/optimize-step.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { isOnPostgres, openTestStore } from '../../helpers/test-database.ts'

let folder: string
let store: Store
beforeEach(async () => {
  folder = await temporaryDataDir()
  store = await openTestStore(folder)
})
afterEach(() => store.close())

const SIGNERS = (['0xA', '0xB'] as const).map((address) => ({
  address,
  sign: () => Promise.reject(new Error('no key')),
}))

const fill = (from: number, to: number) =>
  sql`insert into transactions (id, blockchain, signer, nonce, kind, token_count, raw, hash, state, created_at,
      next_attempt_at)
    with recursive n(i) as (select ${sql.lit(from)} union all select i + 1 from n where i < ${sql.lit(to)})
    select 't' || i, 'polygon', '0xA', i, 'mint', 1, '', 'h' || i, 'signed', 0, 0 from n`.execute(store.db)

describe.skipIf(isOnPostgres())('SQLite', () => {
  /** The planner's row count of the table, an estimate from a part of the index. */
  async function knownRows(): Promise<number> {
    const { rows } = await sql<{ rows: number }>`
      select max(cast(stat as integer)) as rows from sqlite_stat1 where tbl = 'transactions'`.execute(store.db)
    return rows[0]?.rows ?? 0
  }

  it('has statistics of a filled table, and updates them after it has grown', async () => {
    let now = 0
    const turn = createOptimizeStep(store, () => now)
    await fill(1, 2000)
    await readSignerCapacities(store.db, 'polygon', SIGNERS)
    await turn()
    const known = await knownRows()
    expect(known).toBeGreaterThan(1000)
    await fill(2001, 60_000)
    await readSignerCapacities(store.db, 'polygon', SIGNERS)
    await turn()
    expect(await knownRows()).toBe(known)
    now += 10 * 60_000
    await turn()
    expect(await knownRows()).toBeGreaterThan(10 * known)
  })

  it('has statistics of a table filled before the start', async () => {
    await fill(1, 2000)
    await store.close()
    store = await openTestStore(folder)
    expect(await knownRows()).toBeGreaterThan(1000)
  })

  it.each([
    ['without others', 0],
    ['next to a large one', 2000],
  ])('keeps no statistics of a table with few rows: %s', async (_, requests) => {
    await fill(1, 100)
    await sql`insert into accounts (id, created_at) values ('a', 0)`.execute(store.db)
    await sql`insert into requests (id, account_id, endpoint, body_hash, response, accepted_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(requests)})
      select i, 'a', '', '', '', 0 from n limit ${requests}`.execute(store.db)
    await readSignerCapacities(store.db, 'polygon', SIGNERS)
    await sql`analyze`.execute(store.db)
    await createOptimizeStep(store)()
    expect(await knownRows()).toBe(0)
  })

  it('writes nothing when it starts with a small database', async () => {
    await fill(1, 100)
    await store.close()
    const version = async () => {
      const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(store.db)
      return rows[0]?.data_version
    }
    store = await openTestStore(folder)
    const before = await version()
    await (await openTestStore(folder)).close()
    expect(await version()).toBe(before)
  })
})

describe.runIf(isOnPostgres())('PostgreSQL', () => {
  async function knownRows(): Promise<number> {
    const { rows } = await sql<{ rows: number }>`
      select reltuples as rows from pg_class where oid = 'transactions'::regclass`.execute(store.db)
    return Number(rows[0]?.rows)
  }

  it('has statistics of a filled table without autovacuum', async () => {
    await sql`alter table transactions set (autovacuum_enabled = off)`.execute(store.db)
    let now = 0
    const turn = createOptimizeStep(store, () => now)
    await fill(1, 2000)
    // The write is counted a moment later.
    await vi.waitUntil(
      async () => {
        now += 10_000
        await turn()
        return (await knownRows()) === 2000
      },
      { timeout: 60_000 },
    )
    await sql`alter table transactions reset (autovacuum_enabled)`.execute(store.db)
  })
})
