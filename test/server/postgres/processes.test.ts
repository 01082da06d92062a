import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isBlockchain } from '../../../src/api/blockchains.ts'
import { Secret } from '../../../src/core/secret.ts'
import { startWorker, type Worker, type WorkerOptions } from '../../../src/server/worker.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showCollection,
  startTestBackend,
  type TestBackend,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { type PostgresServer, startPostgres } from '../../helpers/postgres-server.ts'

// A separate server, because the tests kill it.
let postgres: PostgresServer
let number = 0
let url: Secret
const undo: (() => Promise<void>)[] = []

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.close())
beforeEach(async () => {
  await postgres.execute(`create database d${++number}`)
  url = new Secret(postgres.url(`d${number}`))
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function folder(): Promise<string> {
  const { path, remove } = await freshDataDir()
  undo.push(remove)
  return path
}

async function api(role: 'api' | 'all' = 'api'): Promise<TestBackend> {
  const backend = await startTestBackend(await folder(), { role, database: { url } })
  undo.push(() => backend.close())
  return backend
}

interface TestWorker extends Worker {
  log: string[]
}

async function worker(options: Partial<WorkerOptions> = {}): Promise<TestWorker> {
  const log: string[] = []
  const started = await startWorker({
    dataDir: await folder(),
    database: { url },
    health: { host: '127.0.0.1', port: 0 },
    allowPrivateFiles: true,
    version: '0.0.0-test',
    logLevel: 'info',
    logStream: { write: (line) => void log.push(line) },
    ...options,
  })
  undo.push(() => started.close())
  return { ...started, log }
}

const statusOf = async (at: string) => (await fetch(at)).status
const transferOf = async (backend: TestBackend) => {
  const collection = await createTestCollection(backend, { enable_transfer: true })
  await until(
    () => showCollection(backend, collection.id),
    ({ status }) => status === 'deployed',
  )
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  return {
    contract_address: collection.address,
    token_id: nft?.token_id,
    blockchain: 'polygon',
    nft_gdn_id: nft?.nft_gdn_id,
    sender_wallet_address: WALLETS[1],
    receiver_wallet_address: WALLETS[2],
  }
}

describe('processes with roles', () => {
  it('an API process runs no jobs, a worker serves no requests, and together they mint', async () => {
    const backend = await api()
    const collection = await createTestCollection(backend)
    const ids = await mint(backend, collection, plainMetadata(3))
    // By then, an API process that runs jobs would have deployed the first collection.
    const first = await worker({ only: ['astar'] })
    const later = await createTestCollection(backend, { blockchain: 'astar' })
    await until(
      () => showCollection(backend, later.id),
      ({ status }) => status === 'deployed',
    )
    expect((await showCollection(backend, collection.id)).status).toBe('initiated')
    // Another process can take over the embedded chains.
    await first.close()
    const { url: health } = await worker()
    expect((await settled(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed', 'deployed'])
    expect(await statusOf(`${health}/readyz`)).toBe(200)
    expect(await statusOf(`${health}/healthz`)).toBe(200)
    expect(await statusOf(`${health}/api/v1/getnfts`)).toBe(404)
    expect(await (await fetch(`${health}/metrics`)).text()).toContain('gdn_pipeline_waiting{step="mint"} 0')
  })

  it('an accepted request wakes a worker at once, before its next poll', async () => {
    const backend = await api()
    await worker()
    const collection = await createTestCollection(backend)
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    const waits: number[] = []
    for (let turn = 0; turn < 5; turn++) {
      const since = performance.now()
      await settled(backend, await mint(backend, collection, plainMetadata(1)))
      waits.push(performance.now() - since)
    }
    // It polls for NFTs to mint every five seconds.
    expect(Math.min(...waits)).toBeLessThan(4000)
  })

  it('the key of one process is valid for all of them', async () => {
    const [one, other] = [await api(), await api()]
    const { id } = await createTestCollection(one)
    const headers = { 'x-api-key': one.apiKey.reveal() }
    const response = await other.post('/api/v1/getcollections', { transaction_gdn_ids: [id] }, headers)
    expect(response.json.collections).toHaveLength(1)
  })

  it('a role without PostgreSQL is rejected with a hint', async () => {
    const refused = startTestBackend(await folder(), { role: 'api', database: undefined })
    await expect(refused).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining('GDN_DATABASE_URL') })
  })

  it('a worker skips chains that it is not configured for', async () => {
    const backend = await api()
    await worker({ only: ['astar'] })
    const { id } = await createTestCollection(backend)
    const other = await createTestCollection(backend, { blockchain: 'astar' })
    await until(
      () => showCollection(backend, other.id),
      ({ status }) => status === 'deployed',
    )
    expect((await showCollection(backend, id)).status).toBe('initiated')
  })
})

it('a worker for a blockchain that its backend does not have is rejected', async () => {
  const name = 'other-chain'
  if (!isBlockchain(name)) throw new Error(`${name} can't be a name`)
  await expect(worker({ only: [name] })).rejects.toMatchObject({
    code: 'invalid_config',
    message: 'other-chain is not a blockchain of this backend',
  })
})

describe('embedded chains', () => {
  it('are run by one process; the others return 503, and one of them takes over when it stops', async () => {
    const first = await api('all')
    const second = await api('all')
    const body = await transferOf(first)
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }
    const refused = await second.post('/rpc/polygon', call)
    expect(refused).toMatchObject({ status: 503 })
    expect(refused.json.error.message).toBe('another process that uses this database runs the embedded chain polygon')
    const { post } = second
    const headers = { 'x-api-key': first.apiKey.reveal() }
    const unasked = await post('/api/v1/transfernft', body, headers)
    expect(unasked).toMatchObject({ status: 503 })
    expect(unasked.json.error.message).toContain('another process that uses this database runs')

    const height = (await first.post('/rpc/polygon', call)).json.result
    await first.close()
    const response = await until(
      () => second.post('/rpc/polygon', call),
      ({ status }) => status === 200,
    )
    // It is the same chain, rebuilt from the database.
    expect(Number(response.json.result)).toBeGreaterThanOrEqual(Number(height))
    expect((await post('/api/v1/transfernft', body, headers)).status).toBe(200)
    const owner = () => post('/api/v1/getnfts', { nft_gdn_ids: [body.nft_gdn_id] }, headers)
    const moved = await until(owner, ({ json }) => json.nfts[0].receiver_wallet_address === WALLETS[2])
    expect(moved.json.nfts[0].receiver_wallet_address).toBe(WALLETS[2])
  })
})

describe('an unavailable database', () => {
  it('causes 503 with Retry-After and on /readyz; once it is back, work resumes without duplicates', async () => {
    const backend = await api()
    const { url: health, log } = await worker()
    const collection = await createTestCollection(backend)
    const before = await mint(backend, collection, plainMetadata(2))
    const body = {
      contract_address: collection.address,
      blockchain: 'polygon',
      receiver_wallet_address: WALLETS[0],
      metadata: plainMetadata(1, 'repeated'),
    }
    const ask = () => backend.post('/api/v1/createnft', body, { 'idempotency-key': 'once' })
    await settled(backend, before)
    await postgres.kill()
    const refused = await ask()
    expect(refused).toMatchObject({ status: 503, json: { error: { title: 'Service Unavailable' } } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(JSON.stringify(refused.json)).not.toContain('/tmp')
    for (const at of [backend.url, health]) expect(await statusOf(`${at}/readyz`)).toBe(503)
    expect(await statusOf(`${backend.url}/healthz`)).toBe(200)
    await until(
      () => log.filter((line) => line.includes('a pipeline step failed')).length,
      (count) => count > 1,
    )
    await postgres.start()
    for (const at of [backend.url, health]) {
      expect(
        await until(
          () => statusOf(`${at}/readyz`),
          (status) => status === 200,
        ),
      ).toBe(200)
    }
    const accepted = await until(ask, ({ status }) => status === 200)
    expect(accepted.status).toBe(200)
    expect((await ask()).headers.get('idempotency-replayed')).toBe('true')
    const ids = accepted.json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    expect((await settled(backend, ids)).map(({ token_id }) => token_id)).toEqual(['3'])
    // Failed steps were retried with a growing delay.
    expect(log.filter((line) => line.includes('a pipeline step failed')).length).toBeLessThan(60)
  })

  it('at the start is reported with its host and without a password', async () => {
    const nowhere = new Secret('postgres://gdn:not%2Fto%2Fbe%2Ftold@127.0.0.1:1/x')
    const refused = startWorker({
      dataDir: await folder(),
      database: { url: nowhere },
      allowPrivateFiles: true,
      version: '0',
      logLevel: 'silent',
      logStream: { write: () => {} },
    })
    const error = await refused.catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('127.0.0.1:1/x') })
    expect(JSON.stringify([error.message, error.hint])).not.toMatch(/not.to.be.told|not%2F/)
  })
})
