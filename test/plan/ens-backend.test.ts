/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { type CliResult, cli, errorOf } from '../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'
import { type EnsStandIn, startEnsNode } from '../helpers/ens-node.ts'

const [ALICE, BOB, CAROL] = WALLETS
const POLYGON = '2147483785'
const RECORDS = { 'alice.eth': { [POLYGON]: ALICE }, 'bob.eth': { [POLYGON]: BOB } }

let backend: TestBackend
let node: EnsStandIn
beforeAll(async () => {
  backend = await backendForFile()
  node = await startEnsNode(RECORDS)
})
afterAll(async () => {
  await node?.close()
})
beforeEach(() => {
  node.records = { ...RECORDS }
})

/** Gives alice.eth another address. */
function move(): void {
  node.records['alice.eth'] = { [POLYGON]: CAROL }
}

/** A machine with its own state. */
async function machine({ address, blockchain }: TestCollection) {
  const { path, options } = await folder({})
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_ENS_RPC_URL: node.url }
  const target = ['-c', address, '-b', blockchain, '--base-url', backend.url]
  const run = (...argv: string[]) => cli(argv, { ...options, env })
  const file = path('drop.csv')
  return {
    path,
    run,
    write: (text: string, name = 'drop.csv') => writeFile(path(name), text),
    mint: (...more: string[]) => run('batch', 'mint', file, ...target, ...more),
    list: (...more: string[]) => run('batch', 'mint', path('row.json'), '--to', path('to.csv'), ...target, ...more),
    plan: (...more: string[]) => run('plan', file, ...target, ...more),
    apply: (...more: string[]) => run('apply', file, ...target, '--yes', ...more),
  }
}

async function succeeded(run: Promise<CliResult>): Promise<CliResult> {
  const result = await run
  expect(result.code, result.stderr).toBe(0)
  return result
}

/** The receivers of the collection's NFTs with their names. */
async function receiversOf({ address, blockchain }: TestCollection): Promise<string[]> {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids })
  return nfts.map((nft) => `${nft.receiver_wallet_address} ${nft.receiver_name ?? ''}`.trim()).sort()
}

const newCollection = () => createTestCollection(backend, { enable_transfer: true, dynamic: true })
const withId = (receiver: string) => `id,title,description,receiver\na,Dawn,x,${receiver}\n`
const withoutId = (receiver: string) => `title,description,receiver\nDawn,x,${receiver}\n`

/** Mints the row to alice.eth on a first machine. */
async function minted(rowTo: (receiver: string) => string) {
  const collection = await newCollection()
  const first = await machine(collection)
  await first.write(rowTo('alice.eth'))
  await succeeded(first.mint())
  expect(await receiversOf(collection)).toEqual([`${ALICE} alice.eth`])
  return { collection, first, second: await machine(collection) }
}

test.each([
  ['with an ID', withId],
  ['without an ID', withoutId],
])('a row %s whose name moved is the same row on another machine, and keeps its receiver', async (_, rowTo) => {
  const { collection, first, second } = await minted(rowTo)
  move()
  await second.write(rowTo('alice.eth'))
  for (const each of [first, second]) expect((await succeeded(each.plan())).stderr).toContain('1 unchanged')
  expect((await succeeded(second.mint())).stderr).not.toContain(`alice.eth → ${ALICE}`)
  expect((await succeeded(second.apply())).code).toBe(0)
  expect(await receiversOf(collection)).toEqual([`${ALICE} alice.eth`])
})

test('a row that names the address in place of the name is unchanged', async () => {
  const { first, second } = await minted(withId)
  for (const each of [first, second]) {
    await each.write(withId(ALICE))
    expect((await succeeded(each.plan())).stderr).toContain('1 unchanged')
  }
})

test('a row whose name was edited is transferred, and the NFT gets the name', async () => {
  const { collection, first, second } = await minted(withId)
  await first.write(withId('bob.eth'))
  const plan = await succeeded(first.plan('-o', 'ndjson'))
  expect(JSON.parse(plan.stdout)).toMatchObject({ action: 'transfer', changes: [{ from: ALICE, to: BOB }] })
  // The output for people also has the name.
  const forPeople = await succeeded(first.plan('-o', 'table'))
  expect(forPeople.stdout + forPeople.stderr).toContain(`bob.eth (${BOB})`)
  await succeeded(first.apply())
  expect(await receiversOf(collection)).toEqual([`${BOB} bob.eth`])
  node.records['bob.eth'] = { [POLYGON]: CAROL }
  await second.write(withId('bob.eth'))
  for (const each of [first, second]) expect((await succeeded(each.plan())).stderr).toContain('1 unchanged')
})

test('a saved plan keeps the addresses of its names', async () => {
  const { collection, first, second } = await minted(withId)
  await second.write(withId('bob.eth'))
  await succeeded(second.plan('--out', second.path('plan.json')))
  node.records['bob.eth'] = { [POLYGON]: CAROL }
  await succeeded(second.run('apply', second.path('plan.json'), '--base-url', backend.url, '--yes'))
  expect(await receiversOf(collection)).toEqual([`${BOB} bob.eth`])
  await first.write(withId('bob.eth'))
  expect((await succeeded(first.plan())).stderr).toContain('1 unchanged')
})

test('a saved plan is refused after another machine made its changes to another address of the name', async () => {
  const { first, second } = await minted(withId)
  const both = (receiver: string) => `${withId(receiver)}b,Dusk,x,${receiver}\n`
  for (const each of [first, second]) await each.write(both('bob.eth'))
  await succeeded(first.plan('--out', first.path('plan.json')))
  node.records['bob.eth'] = { [POLYGON]: CAROL }
  await succeeded(second.apply())
  const refused = await first.run('apply', first.path('plan.json'), '--base-url', backend.url, '--yes')
  expect(refused.code).not.toBe(0)
  for (const what of [`its owner is ${CAROL}`, `it was minted to ${CAROL}`]) expect(refused.stderr).toContain(what)
})

test('a moved name under another run name on another machine seems minted, and --adopt takes it', async () => {
  const { collection, second } = await minted(withoutId)
  move()
  await second.write(withoutId('alice.eth'))
  expect(errorOf(await second.mint('--run', 'other', '-o', 'ndjson'))).toMatchObject({ code: 'seems_minted' })
  await succeeded(second.mint('--run', 'other', '--adopt'))
  expect(await receiversOf(collection)).toEqual([`${ALICE} alice.eth`])
})

test('a list with a moved name under another run name on another machine seems minted', async () => {
  const collection = await newCollection()
  const machines = [await machine(collection), await machine(collection)] as const
  for (const each of machines) {
    await each.write(JSON.stringify({ title: 'Dawn', description: 'x' }), 'row.json')
    await each.write('alice.eth\n', 'to.csv')
  }
  await succeeded(machines[0].list())
  move()
  expect(errorOf(await machines[1].list('--run', 'other', '-o', 'ndjson'))).toMatchObject({ code: 'seems_minted' })
  await succeeded(machines[1].list('--run', 'other', '--adopt'))
  expect(await receiversOf(collection)).toEqual([`${ALICE} alice.eth`])
})
