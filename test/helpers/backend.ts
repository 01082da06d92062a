import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type * as z from 'zod'
import type { CollectionRecord } from '../../src/api/endpoints/getcollections.ts'
import type { EndpointName } from '../../src/api/endpoints.ts'
import type { NftRecord } from '../../src/api/nft-record.ts'
import { Secret } from '../../src/core/secret.ts'
import { endOrphans } from '../../src/server/chain/evm/embedded/pidfile.ts'
import { type BackendOptions, loadRest, type StartedBackend, startBackend } from '../../src/server/main.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import { requireNonce } from '../../src/server/store/transactions.ts'
import { whenFileDone, whenTestDone } from './clean-up.ts'
import { ENDPOINTS } from './endpoints.ts'
import { databaseUrlOf, forgetDatabaseOf, openTestStore } from './test-database.ts'

export interface Answer {
  status: number
  headers: Headers
  // Tests assert the shape of the response themselves.
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shape of the response
  json: any
}

export interface TestBackend extends StartedBackend {
  /** Sends a POST of JSON to a path, by default with the local account's key. A header set to '' is omitted. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  log: string[]
}

export async function freshDataDir(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'gdn-backend-'))
  return {
    path,
    async remove() {
      // Left over by a backend that was killed and not restarted.
      await endOrphans(join(path, 'chains'))
      forgetDatabaseOf(path)
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Creates a data directory. By default, it is removed after the test. */
export async function temporaryDataDir(whenDone = whenTestDone): Promise<string> {
  const { path, remove } = await freshDataDir()
  whenDone(remove)
  return path
}

/** Opens the store of a new data directory. By default, both are removed after the test. */
export async function temporaryStore(whenDone = whenTestDone): Promise<Store> {
  const store = await openTestStore(await temporaryDataDir(whenDone))
  whenDone(() => store.close())
  return store
}

/** Returns the `post` of a backend in any process. */
export function postTo(url: string, apiKey: string): TestBackend['post'] {
  return async (path, body, headers = {}) => {
    const allHeaders = { 'content-type': 'application/json', 'x-api-key': apiKey, ...headers }
    const response = await fetch(url + path, {
      method: 'POST',
      headers: Object.fromEntries(Object.entries(allHeaders).filter(([, value]) => value !== '')),
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) }
  }
}

/** Starts a backend in this process on a free port, without rate limits. */
export async function startTestBackend(dataDir: string, options: Partial<BackendOptions> = {}): Promise<TestBackend> {
  // Vitest transforms a module on its first import, which takes longer than the timeouts of some tests.
  await Promise.all([loadRest(), import('../../src/server/pipeline/pipeline.ts')])
  const log: string[] = []
  const url = await databaseUrlOf(dataDir)
  const backend = await startBackend({
    host: '127.0.0.1',
    port: 0,
    dataDir,
    database: url === undefined ? undefined : { url: new Secret(url) },
    allowPrivateFiles: true,
    rateLimits: false,
    allowedHosts: [],
    version: '0.0.0-test',
    logLevel: 'debug',
    logStream: { write: (line) => void log.push(line) },
    // With a clock from the test, time advances only when the test advances it.
    ...(options.now === undefined ? {} : { steadyNow: () => 0 }),
    ...options,
  })
  return {
    ...backend,
    log,
    post: postTo(backend.url, backend.apiKey.reveal()),
    get: (path, headers = {}) => fetch(backend.url + path, { headers }),
  }
}

async function startUntil(whenDone: typeof whenTestDone, options: Partial<BackendOptions>): Promise<TestBackend> {
  const backend = await startTestBackend(options.dataDir ?? (await temporaryDataDir(whenDone)), options)
  whenDone(() => backend.close())
  return backend
}

/** Starts a backend that is closed after the file's tests. Removes its data directory, unless one is given. */
export const backendForFile = (options: Partial<BackendOptions> = {}) => startUntil(whenFileDone, options)

/** Starts a backend that is closed after the test. Removes its data directory, unless one is given. */
export const backendForTest = (options: Partial<BackendOptions> = {}) => startUntil(whenTestDone, options)

/** Repeats a query until its answer is right. Fails after `timeoutMs` with the last answer. */
export async function until<T>(
  ask: () => T | Promise<T>,
  right: (answer: T) => boolean,
  timeoutMs = 150_000,
  everyMs = 20,
): Promise<T> {
  for (const end = Date.now() + timeoutMs; ; await new Promise((resolve) => setTimeout(resolve, everyMs))) {
    const answer = await ask()
    if (right(answer)) return answer
    if (Date.now() > end) {
      throw new Error(`not right within ${timeoutMs} ms, last answer: ${inspect(answer, { depth: 5 }).slice(0, 4000)}`)
    }
  }
}

/** Returns the response of an endpoint to a valid request. The contract checks its shape. */
export async function call<Name extends EndpointName>(
  backend: Pick<TestBackend, 'post'>,
  name: Name,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<z.output<(typeof ENDPOINTS)[Name]['response']>> {
  const { path, response } = ENDPOINTS[name]
  const answer = await backend.post(path, body, headers)
  if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}: ${JSON.stringify(answer.json)}`)
  return response.parse(answer.json) as z.output<(typeof ENDPOINTS)[Name]['response']>
}

/** EVM addresses whose keys nobody has. */
export const WALLETS = [
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
] as const

export interface TestCollection {
  id: string
  address: string
  blockchain: string
}

/** Creates a collection and returns its address. It may not be deployed yet. */
export async function createTestCollection(
  backend: Pick<TestBackend, 'post'>,
  request: Readonly<Record<string, unknown>> = {},
): Promise<TestCollection> {
  const body = { wallet_address: WALLETS[0], name: 'Test', blockchain: 'polygon', ...request }
  const id = (await call(backend, 'createcollection', body)).response.transaction_gdn_id
  const { contract_address: address } = await showCollection(backend, id)
  if (typeof address !== 'string') throw new Error('the collection has no address')
  return { id, address, blockchain: body.blockchain }
}

export async function showCollection(backend: Pick<TestBackend, 'post'>, id: string): Promise<CollectionRecord> {
  const [record] = (await call(backend, 'getcollections', { transaction_gdn_ids: [id] })).collections
  if (record === undefined) throw new Error(`no collection ${id}`)
  return record
}

/** The provenance hashes to which a collection is committed. */
export const provenancesOf = async (backend: Pick<TestBackend, 'post'>, { address }: Pick<TestCollection, 'address'>) =>
  (await call(backend, 'getprovenances', { contract_address: address })).provenances

/** Metadata of NFTs without files, with distinct titles. */
export function plainMetadata(count: number, prefix = 'NFT'): object[] {
  return Array.from({ length: count }, (_, i) => ({ title: `${prefix} ${i}`, description: '', file_fields: [] }))
}

/** Requests NFTs in a collection. Resolves with their IDs when the request is accepted. */
export async function mint(
  backend: TestBackend,
  { address, blockchain }: Pick<TestCollection, 'address' | 'blockchain'>,
  metadata: unknown,
  {
    receiver = WALLETS[1],
    name,
    headers = {},
  }: { receiver?: string; name?: string; headers?: Record<string, string> } = {},
): Promise<string[]> {
  const body = {
    contract_address: address,
    blockchain,
    receiver_wallet_address: receiver,
    receiver_name: name,
    metadata,
  }
  return (await call(backend, 'createnft', body, headers)).nfts.map((nft) => nft.nft_gdn_ids)
}

export async function showNfts(backend: TestBackend, ids: readonly string[]): Promise<NftRecord[]> {
  return (await call(backend, 'getnfts', { nft_gdn_ids: ids })).nfts
}

/** Resolves with the records of NFTs once each is deployed or failed. */
export function settled(backend: TestBackend, ids: readonly string[]): Promise<NftRecord[]> {
  return until(
    () => showNfts(backend, ids),
    (records) => records.every(({ status }) => status === 'deployed' || status === 'failed'),
  )
}

/** Reads or edits the database of a data dir, while a backend runs or after it has stopped. */
export async function withStore<Result>(dataDir: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openTestStore(dataDir)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The nonces that each signer has used on each blockchain, in ascending order. */
export async function usedNonces(dataDir: string): Promise<Record<string, number[]>> {
  const rows = await withStore(dataDir, ({ db }) =>
    db
      .selectFrom('transactions')
      .select(['id', 'blockchain', 'signer', 'nonce'])
      .where('nonce', 'is not', null)
      .orderBy('nonce')
      .execute(),
  )
  const nonces: Record<string, number[]> = {}
  for (const row of rows) {
    const signer = `${row.blockchain} ${row.signer}`
    nonces[signer] = [...(nonces[signer] ?? []), requireNonce(row)]
  }
  return nonces
}

/** Sends raw bytes to a server. Resolves with the response when the server closes the connection, or after 30 s. */
export function exchangeBytes(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(end, 30_000)
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      answer += text
    })
    socket.on('error', end)
    socket.on('close', end)
  })
}
