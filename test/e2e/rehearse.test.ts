/** @module-tag slow */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { READ_METHODS } from '../../src/server/chain/rpc/read-methods.ts'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until, withStore } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { type NetworkPlace, setUpNetwork } from '../helpers/network-backend.ts'
import { expectNoProcesses } from '../helpers/processes.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { insertTransaction } from '../helpers/rows.ts'
import { type RpcProxy, startRpcProxy } from '../helpers/rpc-proxy.ts'
import { serve } from '../helpers/served-backend.ts'

const KEY = 'k3yOfAProviderThatNobodyMaySee'

interface Report {
  rows: number
  minted: number
  failed: number
  waiting: number
  transactions: number
  gas: number
  cost_wei: string
  block: number
  signers: { address: string; balance_wei: string; spent_wei: string }[]
  failures: { line: number; error: string }[]
}

let network: PublicNetwork
let proxy: RpcProxy
let isDown = false
let place: NetworkPlace
let home: GdnHome
let contract: string
/** Of the backend whose drops are rehearsed. */
let dataDir: string

beforeAll(async () => {
  network = await startPublicNetwork()
  proxy = await startRpcProxy(network.url, { refuse: () => (isDown ? { status: 503 } : undefined) })
  place = await setUpNetwork(network)
  home = await makeHome()
  const stopMining = network.mineEvery(50)
  const backend = serve(place.dataDir, ['--rate-limits', 'off'])
  try {
    const { url, apiKey } = await backend.ready
    const env = { GDN_BASE_URL: url, GDN_API_KEY: apiKey }
    const create = ['collection', 'create', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER, '--yes']
    contract = (await home.json<{ contract_address: string }>(create, { env })).contract_address
    await writeFile(join(home.dir, 'minted.csv'), manifest(2, 'Old'))
    await home.json(['batch', 'mint', 'minted.csv', '-c', contract, '-b', 'polygon', '--yes'], { env })
  } finally {
    await backend.end('SIGTERM')
    await stopMining()
  }
  await place.write({ urls: [`${proxy.url}/v2/${KEY}`] })
  // The process of the tests has the database open. In a copy, SQLite moves its log into the database file after the
  // last reader, which is not a change. libsql may not notice the last reader, so the test moves the log itself.
  dataDir = join(home.dir, 'backend')
  cpSync(place.dataDir, dataDir, { recursive: true })
  await home.json(rehearse('minted.csv'), { env: { TMPDIR: home.dir } })
  const database = openSqlite(join(dataDir, 'gdn.db'))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
})
afterAll(async () => {
  await proxy?.close()
  await network?.close()
  await place?.remove()
  await home?.remove()
})

const manifest = (rows: number, title = 'Tide') =>
  `title,description,receiver\n${Array.from({ length: rows }, (_, row) => `${title} ${row},Water,${OWNER}\n`).join('')}`

/**
 * Digests of all files of a folder, without the write-ahead log if it is empty: libsql closes a database, and removes
 * its log, only after its statements are garbage-collected.
 */
function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true }).map(String)
  const log = join(folder, 'gdn.db-wal')
  const hasChanges = existsSync(log) && statSync(log).size > 0
  const files = names.filter(
    (name) => statSync(join(folder, name)).isFile() && (hasChanges || !/^gdn\.db-(wal|shm)$/.test(name)),
  )
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  )
}

const rehearse = (file: string, ...more: string[]) => [
  ...['batch', 'rehearse', file, '-c', contract, '-b', 'polygon', '--data-dir', dataDir, ...more],
]
const folders = () => readdirSync(home.dir).filter((name) => name.startsWith('gdn-rehearsal-'))
const real = async () => ({
  block: await network.call('eth_getBlockByNumber', ['latest', false]),
  pool: await network.pool(),
  balance: await network.call('eth_getBalance', [place.operator, 'latest']),
})

test('rehearses a drop without a change of the network, the backend or the client', async () => {
  await writeFile(join(home.dir, 'drop.csv'), manifest(450))
  const before = { ...(await real()), data: contentOf(dataDir), state: contentOf(join(home.dir, 'state')) }
  const line = rehearse('drop.csv', '--json', '--state-dir', join(home.dir, 'state'))
  const summary = join(home.dir, 'summary.md')
  const actions = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary }
  const { code, stdout, stderr } = await home.run(line, { env: { TMPDIR: home.dir, ...actions } })
  expect(stderr).toBe('')
  expect(existsSync(summary)).toBe(false)
  expect(code).toBe(0)
  const report = JSON.parse(stdout) as Report
  expect(report).toMatchObject({ rows: 450, minted: 450, failed: 0, waiting: 0, failures: [] })
  expect(report.transactions).toBeGreaterThanOrEqual(3)
  expect(report.gas).toBeGreaterThan(450 * 2000)
  expect(report.signers).toEqual([
    {
      address: place.operator,
      balance_wei: String(10n ** 21n - spentBefore(before.balance)),
      spent_wei: report.cost_wei,
    },
  ])
  expect(BigInt(report.cost_wei)).toBeGreaterThan(0n)

  expect(proxy.calls.filter(({ method }) => !READ_METHODS.has(method))).toEqual([])
  expect({
    ...(await real()),
    data: contentOf(dataDir),
    state: contentOf(join(home.dir, 'state')),
  }).toEqual(before)
  expect(folders()).toEqual([])
  await expectNoProcesses('gdn-rehearsal-')
})

const spentBefore = (balance: unknown) => 10n ** 21n - BigInt(String(balance))

test('rows that were minted before are not minted again, in a text for people', async () => {
  const { code, stdout, stderr } = await home.run(rehearse('minted.csv'), { env: { TMPDIR: home.dir } })
  expect(stderr).toContain('Nothing was sent to polygon.')
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^rows\t2\nminted\t0\nfailed\t0\n/m),
  })
  expect(stdout + stderr).not.toContain(KEY)
})

test('reports rows that fail with their lines, and exits as a real run does', async () => {
  const file = join(home.dir, 'bad.csv')
  const url = 'http://127.0.0.1:9/none.png'
  await writeFile(
    file,
    `title,description,receiver,file:image\nGood,Water,${OWNER},ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy\nBad,Water,${OWNER},${url}\n`,
  )
  const { code, stdout, stderr } = await home.run(rehearse(file, '--json'), { env: { TMPDIR: home.dir } })
  expect(code).toBe(7)
  expect(JSON.parse(stdout)).toMatchObject({ rows: 2, minted: 1, failed: 1, failures: [{ line: 3 }] })
  expect(JSON.parse(stderr).error).toMatchObject({ code: 'batch_failed_rows' })
})

/** Addresses in a text that are neither real ones nor the collection's. */
const unknownAddresses = (text: string) =>
  (text.match(/0x[0-9a-fA-F]{40}\b/g) ?? []).filter(
    (found) => ![place.operator, contract, OWNER].some((known) => known.toLowerCase() === found.toLowerCase()),
  )

test.each([
  ['after its first transactions', 3_100_000n],
  ['before its first transaction', 2_900_000n],
])('a signer that would run dry %s does so in the rehearsal, which names the real one', async (_, gas) => {
  const balance = await network.call('eth_getBalance', [place.operator, 'latest'])
  const { baseFeePerGas } = await network.call<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false])
  await writeFile(join(home.dir, 'large.csv'), manifest(2000))
  // A signer needs funds for 3 million gas.
  const price = 2n * BigInt(baseFeePerGas) + BigInt(await network.call<string>('eth_maxPriorityFeePerGas'))
  await network.call('anvil_setBalance', [place.operator, `0x${(price * gas).toString(16)}`])
  try {
    const { code, stdout, stderr } = await home.run(rehearse('large.csv', '--json'), { env: { TMPDIR: home.dir } })
    const report = JSON.parse(stdout) as Report
    expect(report.minted).toBeLessThan(2000)
    expect(report.minted > 0).toBe(gas > 3_000_000n)
    expect(report.waiting).toBe(2000 - report.minted)
    expect([6, 8]).toContain(code)
    const { message, hint } = JSON.parse(stderr).error
    const covered = / POL, which covers (?:(\d+) pending NFTs?)?(?: and )?(?:(\d+) unsent rows?)? at the current fees/
    expect(message).toContain(`in the rehearsal, the signer ${place.operator} has `)
    const [, waiting = '0', unsent = '0'] = covered.exec(message) ?? []
    expect(Number(waiting) + Number(unsent), message).toBe(report.waiting)
    expect(hint).toBe('Nothing was sent to the network. Fix the cause, and rehearse again.')
    expect(unknownAddresses(stdout + stderr)).toEqual([])
  } finally {
    await network.call('anvil_setBalance', [place.operator, balance])
  }
})

test('names what pending transactions of a signer need above its balance, in addition to the drop', async () => {
  const balance = await network.call('eth_getBalance', [place.operator, 'latest'])
  await network.call('anvil_setBalance', [place.operator, `0x${(10n ** 17n).toString(16)}`])
  const indebted = join(home.dir, 'indebted')
  cpSync(dataDir, indebted, { recursive: true })
  const raw = await privateKeyToAccount(generatePrivateKey()).signTransaction({
    ...{ type: 'eip1559', chainId: 137, nonce: 1000, gas: 3_000_000n, maxFeePerGas: 10n ** 11n },
  })
  await withStore(indebted, async ({ db }) => {
    const model = await db.selectFrom('transactions').selectAll().where('kind', '=', 'mint').executeTakeFirstOrThrow()
    const pending = { id: `${model.id}-other`, hash: 'other', nonce: 1000, state: 'signed', raw, block_number: null }
    await insertTransaction(db, { ...model, ...pending, collection_id: null } as never)
  })
  try {
    await writeFile(join(home.dir, 'few.csv'), manifest(3))
    const argv = rehearse('few.csv', '--json').map((word) => (word === dataDir ? indebted : word))
    const { stdout, stderr } = await home.run(argv, { env: { TMPDIR: home.dir } })
    const { message } = JSON.parse(stderr).error
    expect(message).toContain(`in the rehearsal, the signer ${place.operator} has 0 POL on polygon and needs `)
    expect(message).toContain(`; the balance of ${place.operator} is also 0.2 POL too low for its pending transactions`)
    expect(unknownAddresses(stdout + stderr)).toEqual([])
  } finally {
    await network.call('anvil_setBalance', [place.operator, balance])
  }
})

test('ends with one message when the network can no longer be read', async () => {
  const running = home.start(rehearse('drop.csv', '--json'), { env: { TMPDIR: home.dir } })
  const before = proxy.calls.length
  await until(
    () => proxy.calls.slice(before).some(({ method }) => method === 'eth_getStorageAt'),
    (isForked) => isForked,
  )
  isDown = true
  try {
    const { exitCode, stderr } = await running
    expect(exitCode).toBe(6)
    const { error } = JSON.parse(String(stderr))
    expect(error.message).toMatch(
      /^the fork of polygon can't continue: the node at 127\.0\.0\.1:\d+ returned HTTP 503$/,
    )
    expect(folders()).toEqual([])
  } finally {
    isDown = false
  }
  await expectNoProcesses('gdn-rehearsal-')
})

test('prints a sheet with the separator of the manifest', async () => {
  await writeFile(join(home.dir, 'sheet.csv'), manifest(1).replaceAll(',', ';'))
  const line = rehearse('sheet.csv', '-o', 'csv', '--for-spreadsheet', '--fields', 'rows,minted')
  const { stdout, stderr } = await home.run(line, { env: { TMPDIR: home.dir } })
  expect(stdout, stderr).toBe('\ufeffrows;minted\r\n1;1\r\n')
})

test('rejects an embedded chain and an unknown collection', async () => {
  const other = await home.run(
    ['batch', 'rehearse', 'drop.csv', '-c', contract, '-b', 'avalanche', '--data-dir', dataDir],
    { env: { TMPDIR: home.dir } },
  )
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('avalanche has no RPC URL') })
  const unknown = await home.run(
    ['batch', 'rehearse', 'drop.csv', '-c', OWNER, '-b', 'polygon', '--data-dir', dataDir],
    { env: { TMPDIR: home.dir } },
  )
  expect(unknown).toMatchObject({ code: 5, stderr: expect.stringContaining(`no collection ${OWNER} on polygon`) })
  expect(existsSync(join(home.dir, 'state'))).toBe(true)
})
