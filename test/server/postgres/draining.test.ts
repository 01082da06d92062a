import { createServer } from 'node:http'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import type { EvmNetwork } from '../../../src/server/chain/evm/network.ts'
import { startWorker } from '../../../src/server/worker.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
  withStore,
} from '../../helpers/backend.ts'
import { gate } from '../../helpers/gate.ts'
import { listenLocally } from '../../helpers/http-server.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

let folder: string
let api: TestBackend
const undo: (() => unknown)[] = []

beforeEach(async () => {
  folder = await temporaryDataDir()
  api = await startTestBackend(folder, { role: 'api' })
  undo.push(() => api.close())
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function work(wrapNetwork: (network: EvmNetwork) => EvmNetwork = (network) => network) {
  const own = await freshDataDir()
  undo.push(own.remove)
  const started = await startWorker({
    dataDir: own.path,
    database: { url: new Secret((await databaseUrlOf(folder)) ?? '') },
    health: { host: '127.0.0.1', port: 0 },
    allowPrivateFiles: true,
    version: '0.0.0-test',
    logLevel: 'silent',
    logStream: { write() {} },
    wrapNetwork,
  })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= started.close()
    return closed
  }
  undo.push(close)
  return { ...started, close }
}

/** A worker that is fetching the receipt of a transaction, which the test cuts off. */
async function fetchingReceipt() {
  await createTestCollection(api)
  const call = gate()
  // Like a network whose connections are closed at the end of the time that a stop waits.
  const worker = await work((network) => ({
    ...network,
    async receipts() {
      await call.pass()
      throw new Error('cut off')
    },
  }))
  await call.reached
  return { worker, call }
}

/** A file server that counts requests and never responds. */
async function silentServer() {
  let requestCount = 0
  const server = createServer(() => {
    requestCount += 1
  })
  const { url, close } = await listenLocally(server)
  undo.push(close)
  return { url, asked: () => requestCount }
}

const nfts = () =>
  withStore(folder, ({ db }) =>
    db.selectFrom('nfts').select(['step', 'lease_until', 'attempts', 'generation']).execute(),
  )

it('a worker that stops claims no more jobs and releases its leases at once', async () => {
  const collection = await createTestCollection(api)
  const files = await silentServer()
  const first = await work()
  const metadata = [0, 1, 2].map((index) => ({
    ...{ title: `NFT ${index}`, description: '' },
    file_fields: [{ key: 'image', url: `${files.url}/${index}.png` }],
  }))
  await mint(api, collection, metadata)
  await until(
    async () => files.asked(),
    (requestCount) => requestCount >= 1,
  )
  await until(nfts, (rows) => rows.some(({ lease_until }) => lease_until > Date.now()))
  await first.close()
  const left = await nfts()
  expect(left).toHaveLength(3)
  // An interrupted attempt doesn't count as one.
  for (const row of left) expect(row).toMatchObject({ step: 'files', attempts: 0, lease_until: 0 })

  const before = files.asked()
  await work()
  await until(
    async () => files.asked(),
    (requestCount) => requestCount > before,
  )
})

it('/readyz of a stopping worker reports that it is stopping', async () => {
  const { worker, call } = await fetchingReceipt()
  const ready = async () => (await fetch(`${worker.url}/readyz`)).json()
  expect(await ready()).toEqual({ ready: true, problems: [], warnings: [] })
  const closing = worker.close()
  expect(await ready()).toEqual({ ready: false, problems: ['this process is stopping'], warnings: [] })
  call.open()
  await closing
  await expect(fetch(`${worker.url}/readyz`)).rejects.toThrow()
})

it('a stopping worker releases a transaction whose receipt it was fetching', async () => {
  const { worker, call } = await fetchingReceipt()
  const held = () =>
    withStore(folder, ({ db }) =>
      db.selectFrom('transactions').select('lease_until').where('lease_until', '>', 0).execute(),
    )
  expect(await held()).toHaveLength(1)
  const closed = worker.close()
  call.open()
  await closed
  expect(await held()).toEqual([])
})
