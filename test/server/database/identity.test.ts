/** @module-tag slow */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { exportDatabase } from '../../../src/server/database/export.ts'
import { importDatabase } from '../../../src/server/database/import.ts'
import { findOrCreateIdentity } from '../../../src/server/store/identity.ts'
import { freshDataDir, startTestBackend, withStore } from '../../helpers/backend.ts'
import { placeOf } from '../../helpers/test-database.ts'

let folders: Awaited<ReturnType<typeof freshDataDir>>[] = []
let first: string
let second: string
let third: string
beforeEach(async () => {
  folders = await Promise.all([freshDataDir(), freshDataDir(), freshDataDir()])
  ;[first = '', second = '', third = ''] = folders.map(({ path }) => path)
})
afterEach(() => Promise.all(folders.map(({ remove }) => remove())))

/** What a backend on a data dir returns. */
async function identityOf(dataDir: string) {
  const backend = await startTestBackend(dataDir)
  try {
    const body = (await (await backend.get('/healthz')).json()) as Record<string, string>
    return { id: body.backend_id, incarnation: body.incarnation }
  } finally {
    await backend.close()
  }
}

it('a restarted backend keeps its ID and incarnation, and another backend has others', async () => {
  const one = await identityOf(first)
  expect(await identityOf(first)).toEqual(one)
  const other = await identityOf(second)
  expect(other.id).not.toBe(one.id)
  expect(other.incarnation).not.toBe(one.incarnation)
})

it('each import keeps the ID and starts a new incarnation', async () => {
  const exported = await identityOf(first)
  const file = join(first, 'export.jsonl')
  await exportDatabase(await placeOf(first), file)
  await importDatabase(await placeOf(second), file)
  await importDatabase(await placeOf(third), file)
  const imported = [await identityOf(second), await identityOf(third)]
  expect(imported.map(({ id }) => id)).toEqual([exported.id, exported.id])
  expect(new Set([exported, ...imported].map(({ incarnation }) => incarnation)).size).toBe(3)
})

it('processes that start together on a new database get the same identity', async () => {
  const identities = await withStore(first, ({ db }) =>
    Promise.all(Array.from({ length: 6 }, () => findOrCreateIdentity(db))),
  )
  expect(new Set(identities.map((identity) => JSON.stringify(identity))).size).toBe(1)
})
