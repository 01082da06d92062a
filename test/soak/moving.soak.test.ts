import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { freshDataDir, until } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../helpers/postgres-server.ts'
import { report } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const NFTS = 100_000
const PER_REQUEST = 50
const AT_ONCE = 8
const PATIENCE_MS = 3_600_000

// Without PostgreSQL, test/postgres-missing.test.ts reports it.
const moves = findPostgres() === null ? [] : [NFTS]

let postgres: PostgresServer
let old: Awaited<ReturnType<typeof freshDataDir>>
let other: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend | null = null

beforeAll(async () => {
  old = await freshDataDir()
  other = await freshDataDir()
  if (moves.length === 0) return
  postgres = await startPostgres()
  await postgres.execute('create database gdn')
})
afterAll(async () => {
  await backend?.end('SIGKILL')
  await postgres?.close()
  await Promise.all([old.remove(), other.remove()])
})

async function post<Answer>(to: ServedBackend, endpoint: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'x-api-key': to.apiKey }
  const response = await fetch(`${to.url}/api/v1/${endpoint}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 200) throw new Error(`${endpoint}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Answer
}

/** Rows and hash of each table, as in an export. */
async function tablesIn(path: string): Promise<Record<string, { rows: number; sha256: string }>> {
  const ends = (await readFile(path, 'utf8')).split('\n').filter((line) => line.startsWith('{"end":'))
  const tables = ends.map((line) => JSON.parse(line) as { end: string; rows: number; sha256: string })
  return Object.fromEntries(tables.map(({ end, rows, sha256 }) => [end, { rows, sha256 }]))
}

test.each(moves)(
  'moves a data dir with %i NFTs to PostgreSQL with the same counts and hashes, and the next token id',
  async (nfts) => {
    backend = await serve(old.path, ['--rate-limits', 'off']).ready
    const minting = performance.now()
    const { contract_address: contract } = await gdnAt(backend, old.path).json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Large', '--wallet', OWNER],
    )
    let next = 0
    const client = async (to: ServedBackend) => {
      while (next < nfts) {
        const first = next
        next += PER_REQUEST
        const metadata = Array.from({ length: PER_REQUEST }, (_, index) => ({
          title: `Piece ${first + index}`,
          description: 'One of very many “é” 🌊',
          file_fields: [],
        }))
        await post(to, 'createnft', {
          ...{ contract_address: contract, blockchain: 'polygon', receiver_wallet_address: OWNER, metadata },
        })
      }
    }
    const from = backend
    await Promise.all(Array.from({ length: AT_ONCE }, () => client(from)))
    const drained = await until(
      async () => await (await fetch(`${from.url}/metrics`)).text(),
      (text) => /^gdn_pipeline_waiting\{step="mint"\} 0$/m.test(text) && /step="transaction"\} 0$/m.test(text),
      PATIENCE_MS,
    )
    expect(drained).toMatch(/^gdn_pipeline_waiting\{step="mint"\} 0$/m)
    const seconds = (performance.now() - minting) / 1000
    await backend.end('SIGTERM')

    const bare = (database?: string) => {
      const { json } = gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, old.path)
      const place =
        database === undefined ? ['--data-dir', old.path] : ['--data-dir', other.path, '--database-url', database]
      return (...argv: string[]) =>
        json<{ rows: number; nfts: number; tables: number; seconds: number }>(...argv, ...place)
    }
    const url = postgres.url('gdn')
    const [first, second] = [join(other.path, 'all.jsonl'), join(other.path, 'again.jsonl')]
    const exported = await bare()('db', 'export', first)
    const imported = await bare(url)('db', 'import', first)
    expect(exported.nfts).toBe(nfts)
    expect({ ...imported, seconds: 0, database: '' }).toEqual({ ...exported, seconds: 0, database: '' })
    // Exports PostgreSQL in another process: every table is the same.
    const again = await bare(url)('db', 'export', second)
    const tables = await tablesIn(first)
    // An import starts a new incarnation.
    expect(await tablesIn(second)).toEqual({ ...tables, backend: { rows: 1, sha256: expect.any(String) } })
    expect(tables.nfts?.rows).toBe(nfts)

    process.env.GDN_DATABASE_URL = url
    try {
      backend = await serve(other.path, ['--rate-limits', 'off']).ready
    } finally {
      delete process.env.GDN_DATABASE_URL
    }
    const gdn = gdnAt(backend, old.path)
    const started = performance.now()
    const minted = await gdn.json<{ token_id: string }>(
      ...['nft', 'mint', '-c', contract, '--receiver', OWNER, '--title', 'The next'],
    )
    expect(minted.token_id).toBe(String(nfts + 1))
    report({
      ...{ nfts, rows: exported.rows, tables: exported.tables },
      mintSeconds: Math.round(seconds),
      exportSeconds: exported.seconds,
      importSeconds: imported.seconds,
      exportAgainSeconds: again.seconds,
      firstMintSeconds: Math.round((performance.now() - started) / 100) / 10,
      megabytes: Math.round((await readFile(first)).length / 1e6),
      nftsSha256: tables.nfts?.sha256,
    })
    await rm(second)
  },
  PATIENCE_MS,
)
