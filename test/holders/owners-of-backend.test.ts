/** @module-tag slow */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ResponseOf } from '../../src/client/api-client.ts'
import { requestOwners } from '../../src/holders/ask-owners.ts'
import { listHolders } from '../../src/holders/holder-table.ts'
import { readHolders } from '../../src/holders/read-holders.ts'
import { ReadingStore } from '../../src/holders/reading-store.ts'
import { readBlockAt } from '../../src/verify/block-at.ts'
import { cli, tempHome } from '../cli/harness.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { newWallet, rpcOf } from '../helpers/rpc-wallets.ts'

const [ALICE, BOB] = WALLETS
const wallet = newWallet()
type Page = ResponseOf<'getnftowners'>

let backend: TestBackend
let collection: TestCollection
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-owners-'))
  backend = await backendForFile()
  collection = await createTestCollection(backend, { enable_burn: true, enable_transfer: true })
  await mintTo(ALICE, 2)
  const [moved, burned] = await mintTo(wallet.address, 3)
  const { address } = collection
  const at = address as `0x${string}`
  const to = BOB as `0x${string}`
  await rpcOf(backend).send(wallet, at, {
    functionName: 'transferFrom',
    args: [wallet.address, to, BigInt(moved ?? 0)],
  })
  await rpcOf(backend).send(wallet, at, { functionName: 'burn', args: [wallet.address, BigInt(burned ?? 0)] })
  await until(
    page,
    ({ nfts }) =>
      nfts.length === 5 && nfts.some(({ owner }) => owner === null) && nfts.some(({ owner }) => owner === BOB),
  )
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function mintTo(receiver: string, count: number) {
  const nfts = await settled(backend, await mint(backend, collection, plainMetadata(count), { receiver }))
  return nfts.map(({ token_id }) => token_id)
}

const ask = async (request: object): Promise<Page> => (await backend.post('/api/v1/getnftowners', request)).json
const page = () => ask({ contract_address: collection.address, blockchain: 'polygon' })

async function rpc(method: string, params: unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  return (await (await fetch(`${backend.url}/rpc/polygon`, { method: 'POST', headers, body })).json()) as {
    result: string
    error?: { message: string }
  }
}

const reader = {
  origin: 'the node',
  request: rpc,
  call: (calls: readonly { to: string; data: string }[], block = 'latest') =>
    Promise.all(
      calls.map(async (one) => {
        const { result: data, error } = await rpc('eth_call', [one, block])
        return error === undefined ? { kind: 'value' as const, data } : { kind: 'failed' as const, ...error }
      }),
    ),
}

/** Asks for pages of two NFTs. `change` changes each page by its number. */
async function askPages(change: (page: Page, number: number) => Page | Promise<Page>) {
  const store = new ReadingStore(join(folder, `${crypto.randomUUID()}.db`))
  const block = await readBlockAt(reader, 'latest')
  if (block === null) throw new Error('the chain has no block')
  let pages = 0
  try {
    const read = await requestOwners({
      ...{ reader, store, block, contract: collection.address.toLowerCase(), blockchain: 'polygon', pageSize: 2 },
      client: { call: async (_name, request) => (await change(await ask(Object(request)), ++pages)) as never },
      sleep: async () => {},
      signal: undefined,
      update: () => {},
    })
    const holders = [...listHolders(store)].map(({ owner, count }) => [owner, Number(count)])
    return { read, pages, holders: Object.fromEntries(holders) as Record<string, number> }
  } finally {
    store.close({ remove: true })
  }
}

const key = (address: string) => address.slice(2).toLowerCase()

test('collection holders prints the same holders from the backend as from the logs', async () => {
  const home = await tempHome()
  const env = { ...home.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon' }
  const run = (...flags: string[]) =>
    cli(['collection', 'holders', collection.address, '--base-url', backend.url, '--json', '--debug', ...flags], {
      env,
      cwd: home.dir,
    })
  const backendResult = await run()
  expect(backendResult.code, backendResult.stderr).toBe(0)
  const rows = JSON.parse(backendResult.stdout) as { receiver: string; count: string; block_number: number }[]
  expect(rows.map(({ receiver, count }) => [receiver, count])).toContainEqual([BOB, '1'])
  const read = await run('--block', String(rows[0]?.block_number))
  expect(backendResult.stdout).toBe(read.stdout)
  expect([backendResult, read].map(({ stderr }) => stderr.includes('getnftowners'))).toEqual([true, false])
})

test('reads several pages, without burned NFTs', async () => {
  const { read, pages, holders } = await askPages((one) => one)
  expect(read?.checkNote).toContain('the sum equals totalSupply')
  expect(pages).toBe(3)
  expect(holders).toEqual({ [key(ALICE)]: 2, [key(BOB)]: 1, [key(wallet.address)]: 1 })
})

test('reads the logs after 3 restarts', async () => {
  const later = (nfts: Page['nfts']) => nfts.map((nft) => ({ ...nft, block: nft.block + 1_000_000 }))
  const { read, pages } = await askPages((one) => ({ ...one, nfts: later(one.nfts) }))
  expect([read, pages]).toEqual([null, 4])
})

test('rejects owners that are not those of the contract', async () => {
  const withoutFirst = askPages((one, number) => (number === 1 ? { ...one, nfts: one.nfts.slice(1) } : one))
  await expect(withoutFirst).rejects.toMatchObject({ code: 'verify_failed' })
})

/** Waits until the backend has read the newest block. */
async function followed() {
  const head = Number((await readBlockAt(reader, 'latest'))?.number)
  await until(page, ({ block }) => Number(block?.number) >= head)
}

test('starts again if an NFT is minted between two pages', async () => {
  const { read, pages, holders } = await askPages(async (one, number) => {
    if (number > 1) return one
    await mintTo(ALICE, 1)
    await followed()
    return one
  })
  expect(read).not.toBeNull()
  expect([pages, holders[key(ALICE)]]).toEqual([6, 3])
})

test('starts again if an NFT is transferred between two pages, or after its page', async () => {
  const { nfts } = await page()
  const at = nfts.findIndex(({ owner }) => owner === wallet.address)
  const [token, pageOfToken] = [BigInt(nfts[at]?.token_id ?? 0), Math.ceil((at + 1) / 2)]
  expect(pageOfToken).toBeGreaterThan(1)
  const moveAfter = (pageNumber: number, to: string) => async (one: Page, number: number) => {
    if (number !== pageNumber) return one
    const args = [wallet.address, to as `0x${string}`, token] as [`0x${string}`, `0x${string}`, bigint]
    await rpcOf(backend).send(wallet, collection.address, { functionName: 'transferFrom', args })
    await followed()
    return one
  }
  const between = await askPages(moveAfter(1, wallet.address))
  expect([between.pages, between.holders[key(wallet.address)]]).toEqual([pageOfToken + 3, 1])
  // The pages are right at their block, but the chain has no state of this block to compare them with.
  const after = await askPages(moveAfter(3, BOB))
  expect([after.pages, after.holders[key(wallet.address)]]).toEqual([6, undefined])
})

test('a reading of an earlier block does not resume a stopped reading from the backend', async () => {
  const [first] = (await page()).nfts
  const [newest, earlier] = [await readBlockAt(reader, 'latest'), await readBlockAt(reader, first?.block ?? 0)]
  if (newest === null || earlier === null) throw new Error('the chain has no such block')
  const store = new ReadingStore(join(folder, 'stopped.db'))
  const signal = undefined
  const common = { reader, store, contract: collection.address.toLowerCase(), sleep: async () => {}, update: () => {} }
  await requestOwners({
    ...common,
    client: { call: async (_name, request) => (await ask(request as object)) as never },
    blockchain: 'polygon',
    block: newest,
    signal,
  })
  await readHolders({ ...common, block: earlier, signal, onProgress: () => {}, onReorg: () => {} })
  const holders = [...listHolders(store)].map(({ owner, count }) => [owner, Number(count)])
  store.close({ remove: true })
  // The first block has the two NFTs that were minted first.
  expect(holders).toEqual([[key(ALICE), 2]])
})
