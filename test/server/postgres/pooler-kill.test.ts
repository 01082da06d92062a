import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sleep } from '../../../src/core/time.ts'
import { formatCoins } from '../../../src/core/units.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import { until, WALLETS } from '../../helpers/backend.ts'
import { gdnAt } from '../../helpers/gdn-at.ts'
import { GWEI } from '../../helpers/gwei.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { PaidFees } from '../../helpers/paid-fees.ts'
import { findPgbouncer, startPgbouncer } from '../../helpers/pgbouncer.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { type ServedBackend, serve } from '../../helpers/served-backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'
import { type Pooler, startPooler } from '../../helpers/transaction-pooler.ts'

const ROWS = 30
const KILLS = 4

interface Nft {
  status: string
  request_metadata: { title: string }
}

let real: PublicNetwork
let place: NetworkPlace
let pooler: Pooler
let database: string
let home: string
let backend: ServedBackend
let stopMining = async () => {}

const start = (port: string) =>
  serve(place.dataDir, ['--rate-limits', 'off', '--port', port], {
    GDN_DATABASE_URL: `postgres://gdn@/${database}?host=${encodeURIComponent(pooler.folder)}`,
  }).ready

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 1 } })
  const { pathname, searchParams } = new URL(((await databaseUrlOf(place.dataDir)) ?? '').replace('@/', '@x/'))
  const startPool = findPgbouncer() === null ? startPooler : startPgbouncer
  database = pathname.slice(1)
  pooler = await startPool(searchParams.get('host') ?? '', database, 4)
  home = await mkdtemp(join(tmpdir(), 'gdn-pooler-kill-'))
  stopMining = real.mineEvery(100, () => GWEI)
  backend = await start('0')
})
afterEach(async () => {
  await stopMining()
  await backend?.end('SIGKILL')
  await pooler?.close()
  await place?.remove()
  await real?.close()
  await rm(home, { recursive: true, force: true })
})

it('a backend that is killed behind a pooler mints each row once, within the limit of its run', async () => {
  const { random } = seededRandom('kills behind a pooler')
  const gdn = gdnAt(backend, home)
  const create = ['collection', 'create', '--name', 'Pooled', '-b', 'polygon', '--wallet', WALLETS[0], '--yes']
  const { contract_address } = await gdn.json<{ contract_address: string }>(...create)
  const rows = Array.from({ length: ROWS }, (_, row) => `Row ${row},x,${WALLETS[row % 2]}\n`)
  const manifest = await gdn.file('drop.csv', `title,description,receiver\n${rows.join('')}`)
  // A third of the worst case: rows wait until earlier ones are final, and release what they reserved.
  const limit = (mintGasLimit([{ receiver: '0x', count: 1 }]) * 3n * GWEI * BigInt(ROWS)) / 3n
  const paid = await PaidFees.since(real)
  const spent = async () => (await paid.read()).reduce((sum, { fee }) => sum + fee, 0n)
  const argv = ['batch', 'mint', manifest, '-c', contract_address, '-b', 'polygon', '--chunk-size', '1', '--yes']
  const run = gdn.run(...argv, '--max-cost', formatCoins(limit, 'up'))
  const { port } = new URL(backend.url)
  for (let kill = 0; kill < KILLS; kill++) {
    const before = await spent()
    await until(spent, (wei) => wei > before)
    await sleep(500 * random())
    await backend.end('SIGKILL')
    backend = await start(port)
  }
  const { exitCode, stderr } = await run
  expect(exitCode, stderr).toBe(0)
  const nfts = await gdn.json<Nft[]>('nft', 'list', '-c', contract_address)
  expect(nfts.map(({ request_metadata }) => request_metadata.title).sort()).toEqual(
    Array.from({ length: ROWS }, (_, row) => `Row ${row}`).sort(),
  )
  expect(nfts.every(({ status }) => status === 'deployed')).toBe(true)
  const total = await spent()
  expect(total).toBeLessThanOrEqual(limit)
  const costs = () => gdn.json<Record<string, string>>('batch', 'status', manifest, '--costs')
  expect((await costs()).fee_paid_wei).toBe(String(total))
  report({
    rows: ROWS,
    kills: KILLS,
    transactions: (await paid.read()).length,
    paid: String(total),
    limit: String(limit),
  })
})
