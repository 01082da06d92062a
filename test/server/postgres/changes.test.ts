import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { addChangeable, burn, update } from '../../helpers/changes.ts'
import { gate } from '../../helpers/gate.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// Two stores stand for two processes. They share only the database.
let folder: string
let first: Store
let second: Store

beforeEach(async () => {
  folder = await temporaryDataDir()
  const url = new Secret((await databaseUrlOf(folder)) ?? '')
  first = await openPostgres({ url })
  second = await openPostgres({ url })
  await addChangeable(first.db)
})
afterEach(() => Promise.all([first?.close(), second?.close()]))

/** Resolves once a request has ended, or waits for a lock of another process. */
async function endsOrWaits(request: Promise<unknown>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  request.then(end, end)
  for (;;) {
    const { rows } = await sql`select 1 from pg_locks where not granted`.execute(first.db)
    if (ended || rows.length > 0) return
  }
}

it.each([
  ['a burn and an update', burn, update],
  ['an update and a burn', update, burn],
  ['two updates', update, update],
])('accepts the first of %s of an NFT that two processes receive at once', async (_, one, other) => {
  const hold = gate()
  const accepted = one({ ...first, onAccepted: hold.pass })
  await hold.reached
  const refused = other(second)
  await endsOrWaits(refused)
  hold.open()
  await accepted
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining('is pending') })
})

it('refuses an update if another process settles one with the revision that it replaces', async () => {
  const hold = gate()
  const settling = first.transaction(async (db) => {
    await db.updateTable('nfts').set({ revision: 1 }).execute()
    await hold.pass()
  })
  await hold.reached
  const refused = update(second)
  await endsOrWaits(refused)
  hold.open()
  await settling
  await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('the NFT has revision 1') })
})
