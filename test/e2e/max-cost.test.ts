import { cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseUnits } from '../../src/core/units.ts'
import { EMBEDDED_FEES } from '../../src/server/chain/evm/evm-signer.ts'
import { mintGasLimit } from '../../src/server/chain/evm/gas-limits.ts'
import { freshDataDir, until, WALLETS, withStore } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type HoldingProxy, startHoldingProxy } from '../helpers/holding-proxy.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

/** The most that one NFT alone can cost, in wei. */
const ONE = mintGasLimit([{ receiver: '0x', count: 1 }]) * EMBEDDED_FEES.maxFeePerGas
const ROWS = 8
/** Rows whose worst case fits. */
const FIT = 3
const LIMIT = BigInt(FIT) * ONE + ONE / 2n
const COINS = (Number(LIMIT) / 1e18).toFixed(12)

type Gdn = ReturnType<typeof gdnAt>
interface Nft {
  status: string
  request_metadata: { title: string }
}

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend
let proxy: HoldingProxy
let files: Awaited<ReturnType<typeof startFiles>>
let contract: string
let manifest: string
let argv: string[]
const homes: string[] = []

/** The files of NFTs, which wait until `open`. While they wait, nothing is signed, and accepted rows stay reserved. */
async function startFiles() {
  const waiting: ServerResponse[] = []
  let isOpen = false
  const send = (response: ServerResponse) =>
    response.setHeader('content-type', 'image/png').end(Buffer.from('89504e470d0a1a0a', 'hex'))
  const server = createServer((_, response) => void (isOpen ? send(response) : waiting.push(response)))
  const { url, close } = await listenLocally(server)
  return {
    url,
    open() {
      isOpen = true
      for (const response of waiting.splice(0)) send(response)
    },
    close,
  }
}

const startBackend = (port: string) =>
  serve(dataDir.path, ['--rate-limits', 'off', '--allow-private-files', '--port', port]).ready
async function restart(): Promise<void> {
  await backend.end('SIGKILL')
  backend = await startBackend(new URL(backend.url).port)
}

async function machine(url = proxy.url): Promise<{ home: string; gdn: Gdn }> {
  const home = await mkdtemp(join(tmpdir(), 'gdn-max-cost-'))
  homes.push(home)
  return { home, gdn: gdnAt({ ...backend, url }, home) }
}

beforeEach(async () => {
  dataDir = await freshDataDir()
  files = await startFiles()
  backend = await startBackend('0')
  proxy = await startHoldingProxy(backend.url)
  const { gdn } = await machine(backend.url)
  const create = ['collection', 'create', '--name', 'Limited', '-b', 'polygon', '--wallet', WALLETS[0]]
  contract = (await gdn.json<{ contract_address: string }>(...create)).contract_address
  const rows = Array.from({ length: ROWS }, (_, row) => `Row ${row},x,${WALLETS[row % 2]},${files.url}/${row}.png`)
  manifest = await gdn.file('drop.csv', `title,description,receiver,image\n${rows.join('\n')}\n`)
  argv = ['batch', 'mint', manifest, '-c', contract, '-b', 'polygon', '--chunk-size', '1', '--max-cost', COINS]
})
afterEach(async () => {
  files?.close()
  await backend?.end('SIGTERM')
  await proxy?.close()
  await dataDir?.remove()
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true })
})

async function accepted(): Promise<Nft[]> {
  const { gdn } = await machine(backend.url)
  return await gdn.json<Nft[]>('nft', 'list', '-c', contract)
}

/** No more rows are accepted than fit in the worst case, and none twice. */
async function expectWithinLimit(): Promise<void> {
  const titles = (await accepted()).map(({ request_metadata }) => request_metadata.title)
  expect(titles.length).toBeLessThanOrEqual(FIT)
  expect(new Set(titles).size).toBe(titles.length)
}

/** Every row is deployed once, and the transactions of the run have paid no more than its limit. */
async function expectDone(gdn: Gdn): Promise<void> {
  const nfts = await accepted()
  expect(nfts.map(({ request_metadata }) => request_metadata.title).sort()).toEqual(
    Array.from({ length: ROWS }, (_, row) => `Row ${row}`),
  )
  expect(nfts.every(({ status }) => status === 'deployed')).toBe(true)
  const spent = await gdn.json<Record<string, string>>('batch', 'status', manifest, '--costs')
  expect(BigInt(spent.max_cost_wei ?? 0)).toBeGreaterThan(0n)
  expect(BigInt(spent.fee_paid_wei ?? 0)).toBeLessThanOrEqual(BigInt(spent.max_cost_wei ?? 0))
}

test('a drop that is killed between acceptance and response stays within --max-cost, and is resumed', async () => {
  const { gdn } = await machine()
  for (let life = 0; life < 3; life++) {
    proxy.hold('createnft')
    const { signal } = await gdn.runAndKill(argv, () => proxy.held())
    expect(signal).toBe('SIGKILL')
    await expectWithinLimit()
  }
  proxy.hold(null)
  files.open()
  const { exitCode, stderr } = await gdn.run(...argv)
  expect(exitCode, stderr).toBe(0)
  await expectDone(gdn)
})

test('a drop stays within --max-cost if the backend is killed between acceptance and response', async () => {
  const { gdn } = await machine()
  proxy.hold('createnft')
  const run = gdn.run(...argv)
  for (let life = 0; life < 3; life++) {
    await proxy.held()
    await restart()
    await expectWithinLimit()
    proxy.hold(life < 2 ? 'createnft' : null)
    proxy.cut()
  }
  await until(accepted, (nfts) => nfts.length === FIT)
  files.open()
  await until(accepted, (nfts) => nfts.some(({ status }) => status === 'deployed'))
  await restart()
  const { exitCode, stderr } = await run
  expect(exitCode, stderr).toBe(0)
  await expectDone(gdn)
})

test('two copies of a state that resume one run stay within its --max-cost together', async () => {
  const { home, gdn } = await machine()
  proxy.hold('createnft')
  await gdn.runAndKill(argv, () => proxy.held())
  proxy.hold(null)
  const copy = await machine()
  await cp(home, copy.home, { recursive: true })
  // The copy has the limit in its state.
  const both = [gdn.run(...argv), copy.gdn.run(...argv.slice(0, argv.indexOf('--max-cost')))]
  await until(accepted, (nfts) => nfts.length === FIT)
  await expectWithinLimit()
  files.open()
  const runs = await Promise.all(both)
  for (const { exitCode, stderr } of runs) expect(exitCode, stderr).toBe(0)
  await expectDone(gdn)
  await expectDone(copy.gdn)
})

/** The limit and the costs of the only run with a limit that the collection has. */
async function limited(): Promise<{ runs: string[]; kinds: string[]; paid: bigint }> {
  return await withStore(dataDir.path, async ({ db }) => {
    const transactions = await db.selectFrom('transactions').selectAll().where('run', 'is not', null).execute()
    return {
      runs: [...new Set(transactions.map(({ run }) => run ?? ''))],
      kinds: transactions.map(({ kind }) => kind).sort(),
      paid: transactions.reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n),
    }
  })
}

test('changes that are killed between acceptance and response stay within --max-cost, and are resumed', async () => {
  const { gdn } = await machine()
  const collection = ['--dynamic', '--enable-transfer', '-b', 'polygon', '--wallet', WALLETS[0]]
  const create = ['collection', 'create', '--name', 'Changed', ...collection]
  const { contract_address } = await gdn.json<{ contract_address: string }>(...create)
  const target = ['-c', contract_address, '-b', 'polygon', '--yes']
  const csv = (title: string, receiver: string) =>
    `id,title,description,receiver\na,${title},x,${WALLETS[0]}\nb,B,x,${receiver}\n`
  const drop = await gdn.file('changed.csv', csv('A', WALLETS[0]))
  await gdn.json('batch', 'mint', drop, ...target)
  await gdn.file('changed.csv', csv('Other', WALLETS[1]))
  const refused = await gdn.run('apply', drop, ...target, '--yes', '--max-cost', '0.000001')
  const [, amount = ''] = /--max-cost ([0-9.]+) or more/.exec(refused.stderr) ?? []
  expect([refused.exitCode, amount]).toEqual([5, expect.stringMatching(/^0\.\d+$/)])
  const apply = ['apply', drop, ...target, '--yes', '--max-cost', amount]
  for (const endpoint of ['updatednft', 'transfernft']) {
    proxy.hold(endpoint)
    const { signal } = await gdn.runAndKill(apply, () => proxy.held())
    expect(signal).toBe('SIGKILL')
  }
  proxy.hold(null)
  const { exitCode, stderr } = await gdn.run(...apply)
  expect(exitCode, stderr).toBe(0)
  const { runs, kinds, paid } = await limited()
  expect([runs.length, kinds]).toEqual([1, ['mint', 'transfer', 'update']])
  expect(paid).toBeLessThanOrEqual(parseUnits(amount) ?? 0n)
})

test('a single command that is killed before its response has one effect, and one limit', async () => {
  const { gdn } = await machine()
  const create = [
    'collection',
    'create',
    '--name',
    'Moved',
    '--enable-transfer',
    '-b',
    'polygon',
    '--wallet',
    WALLETS[0],
  ]
  const { contract_address } = await gdn.json<{ contract_address: string }>(...create)
  const mint = ['nft', 'mint', '-c', contract_address, '-b', 'polygon', '--receiver', WALLETS[0], '--title', 'Dawn']
  const { nft_gdn_id } = await gdn.json<{ nft_gdn_id: string }>(...mint)
  const transfer = ['nft', 'transfer', nft_gdn_id, '--receiver', WALLETS[1], '-b', 'polygon', '--yes']
  const refused = await gdn.run(...transfer, '--max-cost', '0.000001')
  const [, amount = ''] = /--max-cost ([0-9.]+) or more/.exec(refused.stderr) ?? []
  expect([refused.exitCode, amount]).toEqual([5, expect.stringMatching(/^0\.\d+$/)])
  // Enough for one transfer but not for two.
  for (let life = 0; life < 2; life++) {
    proxy.hold('transfernft')
    const { signal } = await gdn.runAndKill([...transfer, '--max-cost', amount], () => proxy.held())
    expect(signal).toBe('SIGKILL')
  }
  proxy.hold(null)
  const { exitCode, stderr } = await gdn.run(...transfer, '--max-cost', amount)
  expect(exitCode, stderr).toBe(0)
  const { runs, kinds, paid } = await limited()
  expect([runs.length, kinds]).toEqual([1, ['transfer']])
  expect(paid).toBeLessThanOrEqual(parseUnits(amount) ?? 0n)
})
