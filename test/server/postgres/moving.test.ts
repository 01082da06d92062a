import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { exportDatabase } from '../../../src/server/database/export.ts'
import { importDatabase } from '../../../src/server/database/import.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showNfts,
  startTestBackend,
  until,
} from '../../helpers/backend.ts'
import { show } from '../../helpers/explorer.ts'
import { createSmallDisk } from '../../helpers/small-disk.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

let old: Awaited<ReturnType<typeof freshDataDir>>
let other: Awaited<ReturnType<typeof freshDataDir>>
let url: Secret
let file: string
let drop: Awaited<ReturnType<typeof minted>>

beforeAll(async () => {
  old = await freshDataDir()
  drop = await minted()
})
afterAll(() => old.remove())
beforeEach(async () => {
  other = await freshDataDir()
  url = new Secret((await databaseUrlOf(other.path)) ?? '')
  file = join(other.path, 'all.jsonl')
})
afterEach(() => other.remove())

const onSqlite = () => startTestBackend(old.path, { database: undefined })
const here = () => ({ dataDir: old.path })
const there = () => ({ dataDir: other.path, database: { url } })

/** The lines of an export without those of its table `backend`: each import starts a new incarnation. */
const withoutIdentity = (text: string) =>
  text.replace(/^\{"table":"backend".*\n\[.*\n\{"end":"backend".*\n/m, '').split('\n')

/** Mints ten NFTs in a data dir and stops its backend. */
async function minted() {
  const backend = await onSqlite()
  const collection = await createTestCollection(backend, { name: 'Tide “é” 🌊' })
  const ids = await mint(backend, collection, plainMetadata(10, 'Wharf'), { headers: { 'gdn-run': 'run-of-ten' } })
  await settled(backend, ids)
  const shownNfts = await showNfts(backend, ids)
  const key = backend.apiKey.reveal()
  await backend.close()
  return { collection, ids, shown: shownNfts, key }
}

it('a data dir moves to PostgreSQL and continues with the same NFTs, keys, chain and next token ID', async () => {
  const { collection, ids, shown, key } = drop
  const exported = await exportDatabase(here(), file)
  expect(exported).toMatchObject({ nfts: 10, file })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const imported = await importDatabase(there(), file)
  expect({ ...imported, seconds: 0, database: '' }).toEqual({ ...exported, seconds: 0, database: '' })

  const backend = await startTestBackend(other.path, { database: { url } })
  try {
    const headers = { 'x-api-key': key }
    const response = await backend.post('/api/v1/getnfts', { nft_gdn_ids: ids }, headers)
    const byId = (nfts: readonly { nft_gdn_id: string }[]) =>
      [...nfts].sort((a, b) => (a.nft_gdn_id < b.nft_gdn_id ? -1 : 1))
    expect(byId(response.json.nfts)).toEqual(byId(shown))
    const [next] = await settled(backend, await mint(backend, collection, plainMetadata(1, 'next')))
    expect(next).toMatchObject({ status: 'deployed', token_id: '11' })
  } finally {
    await backend.close()
  }
})

it('an import rebuilds derived tables: counts, runs and words of titles', async () => {
  await exportDatabase(here(), file)
  await importDatabase(there(), file)
  const backend = await startTestBackend(other.path, { database: { url } })
  try {
    const counts = { initiated: 0, deployed: 10, failed: 0 }
    expect((await show(backend, 'overview')).nfts).toEqual(counts)
    expect(await show(backend, 'runs/run-of-ten')).toMatchObject({ counts, failures: [] })
    expect((await show(backend, `collections/${drop.collection.id}/nfts?offset=8`)).items).toHaveLength(2)
    const found = await until(
      () => show(backend, 'search?q=wharf'),
      ({ hits }) => hits.length === 10,
    )
    expect(found.hits).toHaveLength(10)
  } finally {
    await backend.close()
  }
})

it('moving to PostgreSQL and back changes nothing', async () => {
  await exportDatabase(here(), file)
  await importDatabase(there(), file)
  const [again, third] = [join(other.path, 'again.jsonl'), await freshDataDir()]
  await exportDatabase(there(), again)
  const lines = async (path: string) => withoutIdentity(await readFile(path, 'utf8')).sort()
  expect(await lines(again)).toEqual(await lines(file))
  const target = join(third.path, 'data')
  await importDatabase({ dataDir: target }, again)
  const last = join(other.path, 'last.jsonl')
  await exportDatabase({ dataDir: target }, last)
  expect(await lines(last)).toEqual(await lines(file))
  for (const name of ['url-secret', 'signers.json']) {
    expect(await readFile(join(target, name), 'utf8')).toBe(await readFile(join(old.path, name), 'utf8'))
  }
  await third.remove()
})

it('every table of the schema is exported, except derived ones', async () => {
  await exportDatabase(here(), file)
  const store = await openPostgres({ url })
  const { rows } = await sql<{ name: string }>`select tablename as name from pg_tables
    where schemaname = 'public' and tablename not like 'kysely%'
      and tablename not in ('rate_windows', 'nft_counts', 'nft_terms', 'nft_term_cursor')`.execute(store.db)
  await store.close()
  const tableNames = (await readFile(file, 'utf8'))
    .split('\n')
    .flatMap((line) => /^{"table":"(\w+)"/.exec(line)?.[1] ?? [])
  expect(tableNames.sort()).toEqual(rows.map(({ name }) => name).sort())
})

it.each([
  ['is truncated', (text: string) => text.slice(0, text.length / 2), /not part of an export|ends here|invalid place/],
  ['lacks its last line', (text: string) => text.replace(/\{"end":"all".*\n/, ''), /it ends here/],
  ['lacks a row', (text: string) => text.replace(/^\[.*\n/m, ''), /do not match the export/],
  ['was changed', (text: string) => text.replace('deployed', 'deplored'), /do not match the export/],
  ['is of another version', (text: string) => text.replace('0001-initial', '0001-other'), /another version of gdn/],
  ['is something else', () => '{"a":1}\n', /was not written by/],
])('a file that %s is rejected with its location and nothing is imported', async (_, spoil, message) => {
  await exportDatabase(here(), file)
  await writeFile(file, spoil(await readFile(file, 'utf8')))
  const error = await importDatabase(there(), file).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(message), place: { file } })
  const store = await openPostgres({ url })
  expect(await store.db.selectFrom('accounts').selectAll().execute()).toEqual([])
  expect(await store.db.selectFrom('nfts').selectAll().execute()).toEqual([])
  await store.close()
})

it('rows are committed only with their signing keys, so an interrupted import can be repeated', async () => {
  await exportDatabase(here(), file)
  const target = { dataDir: join(other.path, 'data') }
  // Makes writing the keys fail, which happens after the rows.
  await mkdir(join(target.dataDir, 'signers.json', 'folder'), { recursive: true, mode: 0o700 })
  await expect(importDatabase(target, file)).rejects.toThrow()
  await rm(join(target.dataDir, 'signers.json'), { recursive: true })
  expect(await importDatabase(target, file)).toMatchObject({ nfts: 10 })
  expect(await readFile(join(target.dataDir, 'signers.json'), 'utf8')).toBe(
    await readFile(join(old.path, 'signers.json'), 'utf8'),
  )
})

it('an export to a full disk fails and leaves no file behind', async (context) => {
  const disk = await createSmallDisk(24)
  if (typeof disk === 'string') return context.skip(disk)
  try {
    const full = join(disk.path, 'all.jsonl')
    await expect(exportDatabase(here(), full)).rejects.toMatchObject({ code: 'usage', place: { file: full } })
    expect(await readdir(disk.path)).toEqual([])
  } finally {
    await disk.remove()
  }
})

it('a folder is rejected as an export', async () => {
  await expect(importDatabase(there(), other.path)).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'the path is a directory, not an export',
  })
})

it('rejects an import into a database with data and an export of a data dir in use', async () => {
  await exportDatabase(here(), file)
  await importDatabase(there(), file)
  await expect(importDatabase(there(), file)).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringMatching(/is not empty/),
  })
  const backend = await onSqlite()
  const used = exportDatabase(here(), join(other.path, 'x.jsonl'))
  await expect(used).rejects.toMatchObject({ code: 'data_dir_busy' })
  await backend.close()
  await expect(exportDatabase(here(), file)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/already exists/),
  })
})
