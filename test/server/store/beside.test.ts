import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createApiKey } from '../../../src/server/services/api-keys.ts'
import { insertAccount, localAccountId } from '../../../src/server/store/accounts.ts'
import { freshDataDir, withStore } from '../../helpers/backend.ts'

it('commits a transaction that began with a read although another process wrote in the meantime', async () => {
  const dataDir = await freshDataDir()
  await withStore(dataDir.path, (backend) =>
    withStore(dataDir.path, async (administration) => {
      let other: Promise<unknown> = Promise.resolve()
      await backend.transaction(async (db) => {
        expect(await localAccountId(db)).toBeNull()
        const request = { name: 'n', email: 'a@example.com', permissions: [], expiresAt: null, now: 1 }
        // Both are in this process, where SQLite's wait for the lock would block its owner, so there is no wait.
        await sql`pragma busy_timeout = 0`.execute(administration.db)
        other = createApiKey(administration, request).then(
          () => 'written',
          (error: Error) => error.message,
        )
        await other
        await insertAccount(db, { id: 'mine', email: null, created_at: 1 })
      })
      // The second writer waits (here it fails at once); the first loses nothing.
      expect(await other).toMatch(/locked|busy/i)
      expect(await localAccountId(backend.db)).toBe('mine')
    }),
  )
  await dataDir.remove()
})

it('creates one account for simultaneous requests with the same email address', async () => {
  const dataDir = await freshDataDir()
  await withStore(dataDir.path, async (store) => {
    const request = { name: 'n', email: 'a@example.com', permissions: [], expiresAt: null, now: 1 }
    await Promise.all(Array.from({ length: 20 }, () => createApiKey(store, request)))
    expect(await store.db.selectFrom('accounts').selectAll().execute()).toHaveLength(1)
    expect(await store.db.selectFrom('api_keys').selectAll().execute()).toHaveLength(20)
  })
  await dataDir.remove()
})
