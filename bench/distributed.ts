import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Agent, request } from 'undici'
import { generatePrivateKey } from 'viem/accounts'
import { Secret } from '../src/core/secret.ts'
import { recordChain } from '../src/server/store/chains.ts'
import { openPostgres } from '../src/server/store/postgres/open-postgres.ts'
import { writeKeystore, writePassword } from '../test/helpers/keystore-file.ts'
import { type PostgresServer, startPostgres } from '../test/helpers/postgres-server.ts'
import { GDN } from './backend.ts'
import { type Running, startUntil } from './processes.ts'

/** Number of signers. Each has its own nonces, as in a busy backend. */
const OPERATORS = 4
const STATEMENTS = [
  'fsync=on',
  'shared_preload_libraries=pg_stat_statements',
  'pg_stat_statements.track_planning=off',
  'shared_buffers=256MB',
]

export interface Distributed {
  apis: readonly { pid: number; url: string }[]
  workers: readonly number[]
  postgresPid: number
  networkPid: number
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of the response
  post(path: string, body: unknown): Promise<any>
  /** Sends a query to the database itself. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of the rows
  query(sql: string): Promise<any[]>
  /** Requests that the network has received so far. */
  network(): Promise<{ requests: number; asked: Record<string, number> }>
  /** Pauses or resumes the workers. */
  hold(still: boolean): void
  close(): Promise<void>
}

export interface DistributedOptions {
  apis: number
  workers: number
  latencyMs: number
  /** The build of gdn to run; the one that is measured by default. */
  build?: string
}

/** API processes and workers of the built gdn, with a PostgreSQL that syncs and a network that accepts everything. */
export async function distribute(folder: string, options: DistributedOptions): Promise<Distributed> {
  const undo: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    return await open(folder, options, undo, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function open(
  folder: string,
  { apis: apiCount, workers: workerCount, latencyMs, build = GDN }: DistributedOptions,
  undo: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Distributed> {
  const postgres = await startPostgres({ settings: STATEMENTS })
  undo.push(() => postgres.close())
  await postgres.execute('create database gdn')
  const script = fileURLToPath(new URL('mock-network.mjs', import.meta.url))
  const network = await startUntil(/^listening on/, process.execPath, [script, String(latencyMs), '250'])
  undo.push(() => network.end())
  const networkUrl = network.line.replace('listening on ', '')
  await setUp(folder, postgres, networkUrl)

  const start = async (name: string, argv: readonly string[]): Promise<Running> => {
    const dataDir = join(folder, name)
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const place = ['--data-dir', dataDir, '--config', join(folder, 'backend.yaml'), '--json']
    const env = { PATH: process.env.PATH, HOME: dataDir, GDN_DATABASE_URL: postgres.url('gdn') }
    const running = await startUntil(/"event":"ready"/, process.execPath, [build, ...argv, ...place], env)
    undo.push(() => {
      running.child.kill('SIGCONT')
      return running.end()
    })
    return running
  }
  const serve = ['serve', '--role', 'api', '--port', '0', '--rate-limits', 'off']
  const apis = await Promise.all(Array.from({ length: apiCount }, (_, index) => start(`api${index}`, serve)))
  const workers = await Promise.all(
    Array.from({ length: workerCount }, (_, index) => start(`worker${index}`, ['worker'])),
  )
  const ready = apis.map(({ line }) => JSON.parse(line) as { url: string; api_key: string; pid: number })
  const apiKey = ready[0]?.api_key ?? ''
  const dispatcher = new Agent({ connections: 32 })
  undo.push(() => dispatcher.destroy())
  const client = new pg.Client({ connectionString: postgres.url('gdn') })
  await client.connect()
  undo.push(() => client.end())
  await client.query('create extension if not exists pg_stat_statements')
  let turn = 0

  return {
    apis: ready,
    workers: workers.flatMap(({ child }) => child.pid ?? []),
    postgresPid: postgres.pid(),
    networkPid: network.child.pid ?? 0,
    async post(path, body) {
      const { url } = ready[turn++ % ready.length] ?? { url: '' }
      const headers = { 'content-type': 'application/json', 'x-api-key': apiKey }
      const sent = await request(url + path, { method: 'POST', dispatcher, headers, body: JSON.stringify(body) })
      const text = await sent.body.text()
      if (sent.statusCode !== 200) throw new Error(`${path} returned ${sent.statusCode}: ${text}`)
      return JSON.parse(text)
    },
    async query(sql) {
      return (await client.query(sql)).rows
    },
    async network() {
      return (await (await request(networkUrl)).body.json()) as { requests: number; asked: Record<string, number> }
    },
    hold(still) {
      for (const { child } of workers) child.kill(still ? 'SIGSTOP' : 'SIGCONT')
    },
    close,
  }
}

/** Creates the configuration, the signers, and the chain state that gdn chain setup would leave. */
async function setUp(folder: string, postgres: PostgresServer, networkUrl: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (let index = 0; index < OPERATORS; index++) {
    await writeKeystore(join(folder, `op${index}.json`), generatePrivateKey())
  }
  await writePassword(join(folder, 'password'))
  const operators = Array.from(
    { length: OPERATORS },
    (_, index) => `      - { keystore: op${index}.json, password_file: password }`,
  )
  const settings = `chains:
  polygon:
    rpc_urls: ['${networkUrl}']
    confirmations: 1
    finality: 2
    poll_seconds: 0.5
    operators:
${operators.join('\n')}
`
  await writeFile(join(folder, 'backend.yaml'), settings, { mode: 0o600 })
  const store = await openPostgres({ url: new Secret(postgres.url('gdn')) })
  await recordChain(store.db, {
    ...{ blockchain: 'polygon', network: 'remote', chain_id: 137, genesis_timestamp: 0, created_at: Date.now() },
    factory_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  })
  await store.close()
}
