/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  withStore,
} from '../../helpers/backend.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { forward } from '../../helpers/killing-relay.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { folder } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'

let network: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let stopMining: () => Promise<void>
let home: Awaited<ReturnType<typeof folder>>
let contract: string
let nft: string

beforeAll(async () => {
  network = await startPublicNetwork()
  place = await setUpNetwork(network)
  stopMining = network.mineEvery(30)
  backend = await place.start()
  const rights = { enable_transfer: true, enable_burn: true, dynamic: true }
  const collection = await createTestCollection(backend, rights)
  contract = collection.address
  const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: OWNER })
  nft = id
  expect(await settled(backend, [nft])).toMatchObject([{ status: 'deployed' }])
})
beforeEach(async () => {
  home = await folder({ 'drop.csv': `title,description,receiver\nNo,x,${OWNER}\n` })
})
afterAll(async () => {
  await stopMining?.()
  await backend?.close()
  await place?.remove()
  await network?.close()
})

const mintArgs = (title: string) => [
  'nft',
  'mint',
  '-c',
  contract,
  '-b',
  'polygon',
  '--receiver',
  OWNER,
  '--title',
  title,
]

/** Runs a command without a terminal. */
async function runAt(url: string, argv: readonly string[]) {
  const env = { ...home.options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon' }
  return await cli([...argv, '--base-url', url, '--json'], { ...home.options, env })
}
const run = (...argv: string[]) => runAt(backend.url, argv)

/** What the backend has accepted, and the transactions that it has signed. */
const work = () =>
  withStore(place.dataDir, async ({ db }) => ({
    requests: (await db.selectFrom('requests').select('id').execute()).length,
    transactions: (await db.selectFrom('transactions').select('id').execute()).length,
  }))

const COMMANDS: [string, () => string[]][] = [
  ['collection create', () => ['collection', 'create', '--name', 'No', '-b', 'polygon', '--wallet', OWNER]],
  ['nft mint', () => mintArgs('No')],
  [
    'nft grant',
    () => ['nft', 'grant', '-c', contract, '-b', 'polygon', '--sender', OWNER, '--receiver', OTHER, '--title', 'No'],
  ],
  ['nft update', () => ['nft', 'update', nft, '--title', 'No']],
  ['nft freeze', () => ['nft', 'freeze', nft]],
  ['nft transfer', () => ['nft', 'transfer', nft, '--receiver', OTHER]],
  ['nft burn', () => ['nft', 'burn', nft]],
  ['batch mint', () => ['batch', 'mint', home.path('drop.csv'), '-c', contract, '-b', 'polygon']],
  ['apply', () => ['apply', home.path('drop.csv'), '-c', contract, '-b', 'polygon']],
  ['api', () => ['api', 'createcollection', '-f', home.path('collection.json')]],
]

test.each(COMMANDS)(
  'gdn %s spends nothing on a public network without a confirmation',
  {
    tags: ['promise'],
  },
  async (_name, argv) => {
    const request = { name: 'No', blockchain: 'polygon', wallet_address: OWNER }
    await writeFile(home.path('collection.json'), JSON.stringify(request))
    const before = await work()
    const result = await run(...argv())
    expect(result.code, result.stderr).toBe(3)
    expect(errorOf(result)).toMatchObject({ code: 'not_confirmed', hint: expect.stringContaining('--yes') })
    expect(errorOf(result).message).toContain('on polygon, a public network, ')
    expect(await work()).toEqual(before)
  },
)

test.each([
  ['burnnft', () => [`contract_address=${contract}`, `nft_gdn_id=${nft}`, `holder_wallet_address=${OWNER}`]],
  ['commitprovenance', () => [`contract_address=${contract}`, `provenance=0x${'1'.repeat(64)}`]],
])('gdn api names the most that %s can cost, which names no blockchain', async (endpoint, fields) => {
  const result = await run('api', endpoint, ...fields().flatMap((field) => ['--field', field]))
  expect(errorOf(result).message).toMatch(
    new RegExp(`Send ${endpoint} through .*, for an estimated maximum of 0\\.\\d+ POL at the current fees\\?$`),
  )
})

test.each([
  ['an embedded chain', 'base'],
  ['a testnet', 'polygon-amoy'],
])('spends nothing on a public network if the command names %s', async (_what, blockchain) => {
  const before = await work()
  for (const argv of [
    ['update', nft, '--title', 'No'],
    ['transfer', nft, '--receiver', OTHER],
  ]) {
    const result = await run('nft', ...argv, '-b', blockchain)
    expect([argv[0], result.code]).not.toEqual([argv[0], 0])
  }
  expect(await work()).toEqual(before)
})

test('collection set asks for a node of a public network, and does not blame the server', async () => {
  const flags = ['-b', 'polygon', '--royalty', '5%', '--wallet', OWNER, '--dry-run']
  const result = await run('collection', 'set', contract, ...flags)
  expect(errorOf(result)).toMatchObject({
    code: 'usage',
    message: 'no node of polygon is specified, and this server does not provide one',
    hint: 'Nothing was sent. Set GDN_RPC_URL to the URL of a polygon node, or add --rpc-url-file <file>.',
  })
})

test('mints on an embedded chain of the same backend without a confirmation', async () => {
  const created = await run('collection', 'create', '--name', 'Free', '-b', 'base', '--wallet', OWNER)
  expect(created.code, created.stderr).toBe(0)
})

/** Restarts the backend with another declaration of its network. */
async function restart(more: Readonly<Record<string, unknown>>): Promise<void> {
  await backend.close()
  await place.write({ urls: [network.url], more })
  backend = await place.start()
}

test('needs no confirmation on a network that the operator declares a test network', async () => {
  await restart({ test_network: true })
  const result = await run(...mintArgs('Declared'))
  expect(result.code, result.stderr).toBe(0)
})

test('spends nothing if the backend was restarted with a public network since it announced none', {
  tags: ['promise'],
}, async () => {
  await restart({ test_network: true })
  const announced: (string | null)[] = []
  const relay = await startHttpServer(async (request) => {
    if (request.path.endsWith('/createnft')) await restart({})
    const answer = await forward(backend.url, request)
    announced.push(answer.headers['blockchains-without-value']?.includes('*') ? '*' : null)
    return answer
  })
  try {
    const before = await work()
    const result = await runAt(relay.url, mintArgs('Late'))
    expect(announced.slice(-2)).toEqual(['*', null])
    expect(result.code, result.stderr).toBe(3)
    expect(errorOf(result)).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringContaining('the coins of polygon have value on this server'),
    })
    expect(await work()).toEqual(before)
  } finally {
    await relay.close()
  }
  expect(errorOf(await run(...mintArgs('Late'))).hint).toContain('--yes')
})
