import { expect, it, onTestFinished } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { openListener } from '../../../src/server/admin/listen.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { createTestCollection, freshDataDir, startTestBackend, until } from '../../helpers/backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

it.each([
  ['an hour behind', -3_600_000],
  ['an hour ahead', 3_600_000],
])('a listener receives events even if its machine’s clock is %s', async (_, wrong) => {
  const dir = await freshDataDir()
  onTestFinished(() => dir.remove())
  const url = new Secret((await databaseUrlOf(dir.path)) ?? '')
  const backend = await startTestBackend(dir.path, { database: { url } })
  onTestFinished(() => backend.close())
  const store = await openPostgres({ url, requireCurrentSchema: true })
  onTestFinished(() => store.close())
  const now = () => Date.now() + wrong
  const listener = await openListener(store, { events: ['*'], userAgent: 'test', now })
  await createTestCollection(backend)
  const heard = await until(
    () => listener.receive(),
    (events) => events.length > 0,
  )
  expect(heard.map(({ type }) => type)).toEqual(['collection.deployed'])
  const kept = await store.db.selectFrom('webhooks').select('expires_at').where('status', '=', 'active').execute()
  expect(Math.abs(Number(kept[0]?.expires_at) - Date.now())).toBeLessThan(60_000)
  await listener.close()
})
