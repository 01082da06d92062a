import { readdir, readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { basename, join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openSqlite } from '../../../src/server/store/sqlite-driver.ts'
import { asked, recordPostgres, recordSqlite, type Statement } from '../../helpers/asked-statements.ts'
import { freshDataDir, withStore } from '../../helpers/backend.ts'
import { databaseUrlOf, isOnPostgres, openTestStore } from '../../helpers/test-database.ts'
import { useEverything } from '../../helpers/use-everything.ts'

// No request and no step of the pipeline may read all NFTs, or all of an account, a collection or an owner. gdn is used
// from end to end, each statement that it ran is recorded, and its plan is checked: a new query is among them without
// anybody adding it.

vi.mock('../../../src/server/store/sqlite-driver.ts', async (original) => {
  const actual = await original<typeof import('../../../src/server/store/sqlite-driver.ts')>()
  return { ...actual, openSqlite: (path: string) => recordSqlite(actual.openSqlite(path)) }
})

/** NFTs in one collection, and how many more wait at each step. */
const DEPLOYED = 40_000
const WAITING = 300

/** Statements that read as many NFTs as they return or count. */
const WHOLE = [
  // getnftgdnids lists a collection.
  /^select "id" from "nfts" where "collection_id" = (\?|\$1) order by "seq"$/,
  // The web explorer counts the NFTs of an owner, in the index alone.
  /select count\(\*\) (as count )?from nfts where .*owner = (\?|\$2)/,
  // Metrics count what waits.
  /^select count\(\*\) as "count", min\("seq"\) as "oldest" from "nfts" where "step" = /,
]

let folder: Awaited<ReturnType<typeof freshDataDir>>
let store: Store
let statements: Statement[]
/** Functions of the store's modules that ran, as `module.function`. */
let ran: Set<string>

beforeAll(async () => {
  folder = await freshDataDir()
  const stop = recordPostgres()
  // The migrations may read what they like.
  await withStore(folder.path, async () => {})
  asked.clear()
  ran = await functionsRun(() => useEverything(folder.path))
  statements = [...asked.values()].filter(({ sql }) => /^\s*(select|with|insert|update|delete)\b/i.test(sql))
  stop()
  store = await openTestStore(folder.path)
})
afterAll(async () => {
  await store?.close()
  await folder?.remove()
})

async function functionsRun(work: () => Promise<void>): Promise<Set<string>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return new Set(
    result.flatMap(({ url, functions }) => {
      const module = /\/server\/store\/([\w-]+)\.ts/.exec(url)?.[1]
      return functions
        .filter(({ ranges }) => module !== undefined && (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName }) => `${module}.${functionName}`)
    }),
  )
}

/** Adds NFTs of every state to the collection that was used. */
async function fill({ db }: Store): Promise<void> {
  const cast = isOnPostgres() ? sql`::text` : sql``
  const model = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select(['nfts.collection_id', 'nfts.request_id'])
    .where('collections.blockchain', '=', 'polygon')
    .executeTakeFirstOrThrow()
  for (const [step, count] of [
    ...(['files', 'mint', 'chain'] as const).map((waiting) => [waiting, WAITING] as const),
    ['done', DEPLOYED] as const,
  ]) {
    const isDone = step === 'done'
    const prefix = sql`${step}${cast}`
    await sql`insert into requests (id, account_id, endpoint, body_hash, response, accepted_at, run)
      with recursive numbers (i) as (select 0 union all select i + 1 from numbers where i < ${sql.lit(count / 100)})
      select ${prefix} || '-r' || i, account_id, endpoint, body_hash, response, accepted_at, run
      from numbers, requests where requests.id = ${model.request_id}`.execute(db)
    await sql`insert into nfts (id, request_id, collection_id, receiver, owner, metadata, status, step, next_attempt_at,
        transaction_id, batch_index, token_id, files)
      with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(count)})
      select ${prefix} || i, ${prefix} || '-r' || (i / 100), ${model.collection_id}${cast}, 'w',
        ${isDone ? sql`'w' || (i % 1000)` : sql`null`}, '{}', ${sql.lit(isDone ? 'deployed' : 'initiated')}, ${prefix}, 1,
        ${isDone || step === 'chain' ? sql`${prefix} || '-t' || (i / 100)` : sql`null`}, i % 100,
        ${isDone ? sql`cast(1000 + i as text)` : sql`null`}, '{}' from numbers`.execute(db)
  }
}

const isWhole = (text: string) => WHOLE.some((allowed) => allowed.test(text.replace(/\s+/g, ' ').trim()))

it('every function of a module that reads NFTs ran', async () => {
  const modules = new URL('../../../src/server/store/', import.meta.url)
  const exported: string[] = []
  for (const file of await readdir(modules)) {
    if (!file.endsWith('.ts') || !/\bnfts\b/.test(await readFile(new URL(file, modules), 'utf8'))) continue
    const module: Record<string, unknown> = await import(new URL(file, modules).href)
    const names = Object.keys(module).filter((name) => typeof module[name] === 'function')
    exported.push(...names.map((name) => `${basename(file, '.ts')}.${name}`))
  }
  const unused = isOnPostgres() ? [] : ['leases.renewLeases']
  expect(exported.length).toBeGreaterThan(50)
  expect(exported.filter((name) => !ran.has(name))).toEqual(unused)
})

/** How SQLite may read NFTs: by a key, at an end of an index, or what is unfinished by an index that holds nothing else. */
const BOUNDED = [
  /^SEARCH nfts( USING COVERING INDEX \w+)?$/,
  /\((rowid|id|transaction_id|collection_id=\? AND token_id)=\?\)$/,
  /\(collection_id=\? AND seq>\? AND seq<\?\)$/,
  /^S\w+ nfts USING (COVERING )?INDEX nfts_(files_due|mint_due|on_chain|leased)\b/,
]

describe.skipIf(isOnPostgres())('SQLite', () => {
  const analyze = () => sql`analyze`.execute(store.db)
  const forget = async () => {
    await analyze()
    await sql`delete from sqlite_stat1`.execute(store.db)
  }

  it.each([
    ['a few NFTs without statistics', forget],
    ['a few NFTs with statistics', analyze],
    ['many NFTs with statistics of a few', () => fill(store)],
    ['many NFTs without statistics', forget],
    ['many NFTs with statistics', analyze],
  ])('reads no more NFTs than needed: %s', async (_, prepare) => {
    await prepare()
    // Statistics are read when a connection is opened.
    const raw = openSqlite(join(folder.path, 'gdn.db'))
    const scans = statements.flatMap((statement) => {
      const text = statement.sql
      const rows = raw.prepare(`explain query plan ${text}`).all([...statement.parameters])
      const plan = rows.map((row) => (row as { detail: string }).detail)
      // What is chosen before a join is sorted after it, a page at most.
      const isSorted = plan.includes('USE TEMP B-TREE FOR ORDER BY') && !plan.includes('SCAN page')
      const reads = plan.filter((step) => /^S\w+ nfts\b/.test(step) && !BOUNDED.some((bounded) => bounded.test(step)))
      return reads.length === 0 || isWhole(text) || (/ limit /i.test(text) && !isSorted) ? [] : [{ text, plan }]
    })
    raw.close()
    expect(scans).toEqual([])
  })

  it('knows every table by its own name in the plans', () => {
    expect(statements.filter(({ sql }) => /\bnfts"? as\b/.test(sql))).toEqual([])
  })
})

/** A node of a plan as PostgreSQL prints it. */
interface PlanNode {
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

function nftsRead(node: PlanNode): number {
  const isOfNfts = node['Relation Name'] === 'nfts' || node['Index Name']?.startsWith('nfts_')
  const each =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const own = isOfNfts ? each * node['Actual Loops'] : 0
  return (node.Plans ?? []).reduce((sum, part) => sum + nftsRead(part), own)
}

/** Owners are counted in parts of so many NFTs. */
const MOST_READ = 20_000

describe.runIf(isOnPostgres())('PostgreSQL', () => {
  // Without statistics, or with those of a few NFTs, it estimates by chance. Its autovacuum analyzes within a minute.
  it('reads no more NFTs than needed: many NFTs with statistics', async () => {
    await fill(store)
    await sql`analyze`.execute(store.db)
    const client = new pg.Client({ connectionString: await databaseUrlOf(folder.path) })
    await client.connect()
    const scans: object[] = []
    for (const { sql: text, parameters } of statements) {
      // What inserts would do so twice.
      if (/^\s*insert\b/i.test(text) || !/\bnfts\b/.test(text) || isWhole(text)) continue
      await client.query('begin')
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, [...parameters])
      await client.query('rollback')
      const read = nftsRead(rows[0]['QUERY PLAN'][0].Plan)
      if (read > MOST_READ) scans.push({ text, read })
    }
    await client.end()
    expect(scans).toEqual([])
  })
})
