import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { checkUp } from '../../../src/server/checkup/checkup.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

let dir: string
let url: Secret

beforeEach(async () => {
  dir = await temporaryDataDir()
  url = new Secret((await databaseUrlOf(dir)) ?? '')
})

interface Migration {
  name: string
  timestamp: string
}

const database = async (at = url) => {
  const place = { dataDir: dir, database: { url: at }, credentialsDirectory: undefined, env: {} }
  const found = await checkUp({ ...place, userAgent: 'test', now: Date.now })
  return found.find(({ check }) => check === 'database')
}

it('reports missing migrations with a fix and does not change the database', async () => {
  const store = await openPostgres({ url })
  const { rows } = await sql<Migration>`delete from kysely_migration returning *`.execute(store.db)
  for (const _ of [1, 2]) {
    expect(await database()).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('lacks migrations: 0001-initial'),
      fix: expect.stringContaining('gdn db migrate'),
    })
  }
  // Other tests use the same database.
  for (const { name, timestamp } of rows) {
    await sql`insert into kysely_migration values (${name}, ${timestamp})`.execute(store.db)
  }
  await store.close()
})

it('reports the server version and latency of an up-to-date database', async () => {
  await (await openPostgres({ url })).close()
  expect(await database()).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/^.* \(PostgreSQL \d+\.\d+\) responds in [\d.]+ ms, schema up to date$/),
  })
})

it('fails for a read-only database', async () => {
  const store = await openPostgres({ url })
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(store.db)
  const name = sql.id(rows[0]?.name ?? '')
  await sql`alter database ${name} set default_transaction_read_only = on`.execute(store.db)
  const found = await database()
  // The setting applies to new sessions only, so this one can reset it.
  await sql`alter database ${name} reset default_transaction_read_only`.execute(store.db)
  await store.close()
  const message = expect.stringContaining('rejects writes')
  expect(found).toMatchObject({ status: 'fail', error: expect.objectContaining({ message }) })
})

it('fails for an unreachable database', async () => {
  const found = await database(new Secret('postgres://gdn@127.0.0.1:1/gdn'))
  expect(found).toMatchObject({ status: 'fail', error: expect.objectContaining({ code: 'unreachable' }) })
})
