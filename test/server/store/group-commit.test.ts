import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGroupCommit } from '../../../src/server/store/group-commit.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import type { Db } from '../../../src/server/store/schema.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { openTestStore } from '../../helpers/test-database.ts'

let store: Store
let folder: string

beforeEach(async () => {
  folder = await temporaryDataDir()
  store = await openTestStore(folder)
})
afterEach(() => store.close())

const add = (id: string) => async (db: Db) => {
  await db.insertInto('accounts').values({ id, email: null, created_at: 0 }).execute()
  return id
}

const stored = async () => {
  const rows = await store.db.selectFrom('accounts').select('id').orderBy('id').execute()
  return rows.map((row) => row.id)
}

describe('simultaneous transactions', () => {
  it('each return their result, in the order of their arrival', async () => {
    const seen: string[][] = []
    const look = async (db: Db) => {
      const rows = await db.selectFrom('accounts').select('id').orderBy('id').execute()
      seen.push(rows.map((row) => row.id))
    }
    const results = await Promise.all([
      store.transaction(add('a')),
      store.transaction(look),
      store.transaction(add('b')),
    ])
    expect(results).toEqual(['a', undefined, 'b'])
    expect(seen).toEqual([['a']])
    expect(await stored()).toEqual(['a', 'b'])
  })

  it('roll back separately: a failed one leaves nothing, and the others are committed', async () => {
    const failing = async (db: Db) => {
      await add('b')(db)
      throw new Error('not this one')
    }
    const outcomes = await Promise.allSettled([
      store.transaction(add('a')),
      store.transaction(failing),
      store.transaction(add('a')),
      store.transaction(add('c')),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: { message: 'not this one' } })
    expect(outcomes[2]).toMatchObject({ reason: { message: expect.stringMatching(/UNIQUE/) } })
    expect(await stored()).toEqual(['a', 'c'])
  })

  it('all fail and roll back if their commit fails', async () => {
    // A constraint deferred until the commit and violated by one of them.
    const breaking = async (db: Db) => {
      await sql`pragma defer_foreign_keys = on`.execute(db)
      await sql`insert into api_keys (id, account_id, name, prefix, hash, permissions, created_at)
        values ('k', 'nobody', '', '', '', '[]', 0)`.execute(db)
    }
    // Without a time limit, both are in one group on a busy machine too.
    const run = createGroupCommit(store.db, Number.POSITIVE_INFINITY)
    const outcomes = await Promise.allSettled([run(add('a')), run(breaking)])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await stored()).toEqual([])
    expect(await store.transaction(add('b'))).toBe('b')
  })

  it('all succeed, in any number', async () => {
    const ids = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, '0'))
    expect(await Promise.all(ids.map((id) => store.transaction(add(id))))).toEqual(ids)
    expect(await stored()).toEqual(ids)
  })

  it('all fail together if no transaction can begin', async () => {
    let attempts = 0
    const execute = async () => {
      attempts++
      throw new Error('database is locked')
    }
    const run = createGroupCommit({ transaction: () => ({ execute }) } as unknown as Store['db'])
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((id) => run(add(id))))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(attempts).toBe(1)
  })

  it('leave turns to other work: a group that has run for its maximum time is committed', async () => {
    const run = createGroupCommit(store.db, 0)
    const order: string[] = []
    const note = (text: string) => () => void order.push(text)
    setImmediate(() => setImmediate(note('other work')))
    await Promise.all(['a', 'b', 'c'].map((id) => run(add(id)).then(note(id))))
    expect(order).toEqual(['a', 'other work', 'b', 'c'])
    expect(await stored()).toEqual(['a', 'b', 'c'])
  })

  it('are committed when they resolve, and visible to another connection', async () => {
    await store.transaction(add('a'))
    const other = await openTestStore(folder)
    try {
      expect(await other.db.selectFrom('accounts').select('id').execute()).toEqual([{ id: 'a' }])
    } finally {
      await other.close()
    }
  })
})
