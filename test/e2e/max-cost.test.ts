import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mintGasLimit } from '../../src/server/chain/evm/gas-limits.ts'
import { EMBEDDED_FEES } from '../../src/server/chain/evm/signers.ts'
import { freshDataDir, until, WALLETS } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type HoldingProxy, startHoldingProxy } from '../helpers/holding-proxy.ts'
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open() {
      isOpen = true
      for (const response of waiting.splice(0)) send(response)
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
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
