/** @module-tag slow */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import type { Db } from '../../../src/server/store/schema.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  withStore,
} from '../../helpers/backend.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { useEverything } from '../../helpers/use-everything.ts'
import { TRANSITIONS } from './transitions.ts'

const SERVER = fileURLToPath(new URL('../../../src/server/', import.meta.url))

describe('the columns of state', () => {
  // With Kysely, the types of the schema prevent it.
  it('are written only by src/server/state, also in SQL', async () => {
    const tables = [...new Set(Object.keys(TRANSITIONS).map((column) => column.split('.')[0]))].join('|')
    const update = new RegExp(`update (${tables})\\s+set\\b[^\`]*?\\b(status|step|state) = `)
    const insert = new RegExp(`insert into (${tables})\\b`)
    const writers = []
    for (const entry of await readdir(SERVER, { recursive: true })) {
      if (!entry.endsWith('.ts') || entry.startsWith('store/migrations')) continue
      const text = await readFile(join(SERVER, entry), 'utf8')
      // Columns after `where` are read, not written.
      const written = text.replaceAll(/\bwhere\b[^`]*/g, '')
      if (update.test(written) || insert.test(written)) writers.push(entry)
    }
    expect(writers).toEqual(['state/nfts.ts'])
  })
})

describe('a change of state that is not in the table', () => {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  beforeEach(async () => {
    dataDir = await freshDataDir()
    await withStore(dataDir.path, ({ db }) => refuseOtherTransitions(db))
  })
  afterEach(() => dataDir.remove())

  it('never occurs, neither in a run of all features nor on Solana', async () => {
    await useEverything(dataDir.path)
    const backend = await startTestBackend(dataDir.path)
    try {
      const collection = await createTestCollection(backend, SOLANA_COLLECTION)
      const ids = await mint(backend, collection, plainMetadata(2), { receiver: solanaWallet('receiver') })
      expect((await settled(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
    } finally {
      await backend.close()
    }
    // The trigger works: the database rejects such a change.
    await withStore(dataDir.path, async ({ db }) => {
      const failed = stateDb(db).updateTable('nfts').set({ status: 'failed' }).where('status', '=', 'deployed')
      await expect(failed.execute()).rejects.toThrow('nfts.status: no such transition')
    })
  })
})

/** Makes the database reject every change that the table of transitions doesn't have. */
async function refuseOtherTransitions(db: Db): Promise<void> {
  for (const [name, transitions] of Object.entries<Readonly<Record<string, readonly string[]>>>(TRANSITIONS)) {
    const [table = '', column = ''] = name.split('.')
    const [before, after] = [sql.ref(`old.${column}`), sql.ref(`new.${column}`)]
    const allowed = Object.entries(transitions).flatMap(([from, values]) =>
      values.map((to) => sql`(${before} = ${sql.lit(from)} and ${after} = ${sql.lit(to)})`),
    )
    await sql`
      create trigger ${sql.id(`transitions ${table} ${column}`)} before update of ${sql.id(column)} on ${sql.table(table)}
      when ${before} <> ${after} and not (${sql.join(allowed, sql` or `)})
      begin select raise(abort, ${sql.lit(`${name}: no such transition`)}); end`.execute(db)
  }
}
