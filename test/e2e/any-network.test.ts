/** @module-tag slow */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { writeKeystore, writePassword } from '../helpers/keystore-file.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const STUDIO_CHAIN = 412_346

let folder: string
let dataDir: string
let backend: ServedBackend | undefined
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-any-'))
  dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
})
afterAll(async () => {
  await backend?.end('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

const gdn = () => gdnAt(backend ?? { url: 'http://127.0.0.1:1', apiKey: '' }, folder)
const start = async () => {
  backend = await serve(dataDir, ['--rate-limits', 'off']).ready
}
const stop = async () => {
  await backend?.end('SIGTERM')
  backend = undefined
}

/** Creates a collection, mints an NFT in it and waits until it is deployed. */
async function mintOn(blockchain: string): Promise<{ id: string; contract: string; nft: string }> {
  const { transaction_gdn_id: id, contract_address: contract } = await gdn().json<Record<string, string>>(
    ...['collection', 'create', '--name', `On ${blockchain}`, '-b', blockchain, '--wallet', OWNER, '--yes'],
  )
  if (id === undefined || contract === undefined) throw new Error(`no collection on ${blockchain}`)
  const minted = await gdn().json<{ nft_gdn_id: string; status: string }>(
    ...['nft', 'mint', '-c', contract, '-b', blockchain, '--receiver', OWNER, '--title', 'Dawn', '--yes'],
  )
  expect(minted).toMatchObject({ status: 'deployed', token_id: '1' })
  return { id, contract, nft: minted.nft_gdn_id }
}

async function post(path: string, body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${backend?.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': backend?.apiKey ?? '' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

test('mints on base with nothing configured, and verifies the NFT on its embedded chain', async () => {
  await start()
  try {
    const { nft } = await mintOn('base')
    expect(await gdn().json('nft', 'verify', nft, '-b', 'base', '--owner', OWNER, '--on-chain')).toMatchObject({
      isgdnnft: true,
    })
    const shownNft = await gdn().json('nft', 'show', nft)
    expect(shownNft).toMatchObject({ blockchain: 'base', status: 'deployed' })
    const asked = await post('/rpc/base', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
    expect(JSON.parse(asked.text).result).toBe('0x2105')
    const listed = await gdn().json<{ blockchain: string }[]>('chain', 'list', '--data-dir', dataDir)
    expect(listed.find(({ blockchain }) => blockchain === 'base')).toMatchObject({
      chain_id: 8453,
      network: 'embedded',
    })
  } finally {
    await stop()
  }
})

describe('networks by RPC URL', () => {
  let base: PublicNetwork
  let studio: PublicNetwork
  let stopMining: (() => Promise<void>)[] = []
  /** Of the collection on studio-chain. */
  let collectionId = ''
  const admin = generatePrivateKey()
  const operator = generatePrivateKey()
  const setup = (blockchain: string) => [
    ...['chain', 'setup', blockchain, '--data-dir', dataDir, '--admin-keystore', join(folder, 'admin.json')],
    ...['--password-file', join(folder, 'password'), '--yes'],
  ]

  async function configure(urls: { base: string; studio: string }): Promise<void> {
    const common = {
      ...{ confirmations: 2, finality: 3, poll_seconds: 0.1 },
      operators: [{ keystore: 'operator.json', password_file: 'password' }],
    }
    const chains = {
      base: { ...common, rpc_urls: [`${urls.base}/?secret-key`] },
      'studio-chain': { ...common, rpc_urls: [urls.studio], chain_id: STUDIO_CHAIN },
    }
    await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify({ chains }), { mode: 0o600 })
  }

  beforeAll(async () => {
    dataDir = join(folder, 'networks')
    await mkdir(dataDir, { mode: 0o700 })
    base = await startPublicNetwork([], { chainId: 8453 })
    studio = await startPublicNetwork([], { chainId: STUDIO_CHAIN })
    stopMining = [base, studio].map((network) => network.mineEvery(100))
    await writePassword(join(folder, 'password'))
    await writePassword(join(dataDir, 'password'))
    await writeKeystore(join(folder, 'admin.json'), admin)
    await writeKeystore(join(dataDir, 'operator.json'), operator)
    const rich = `0x${(10n ** 20n).toString(16)}`
    for (const network of [base, studio]) {
      for (const key of [admin, operator]) {
        await network.call('anvil_setBalance', [privateKeyToAccount(key).address, rich])
      }
    }
  })
  afterAll(async () => {
    await Promise.all(stopMining.map((stop) => stop()))
    await Promise.all([base?.close(), studio?.close()])
  })

  test('chain setup sends nothing to a node of another network', async () => {
    await configure({ base: studio.url, studio: studio.url })
    const { exitCode, stderr } = await gdn().run(...setup('base'), '--json')
    expect(exitCode).toBe(2)
    expect(JSON.parse(stderr).error.message).toMatch(new RegExp(`belongs to chain ${STUDIO_CHAIN}, not 8453$`))
    const sent = await studio.call('eth_getTransactionCount', [privateKeyToAccount(admin).address, 'pending'])
    expect(sent).toBe('0x0')
  })

  test("sets up and mints on base and on a network of the operator's own name", async () => {
    await configure({ base: base.url, studio: studio.url })
    for (const [blockchain, chainId] of [['base', 8453] as const, ['studio-chain', STUDIO_CHAIN] as const]) {
      expect(await gdn().json(...setup(blockchain))).toMatchObject({ blockchain, chain_id: chainId, status: 'done' })
    }
    const { stdout } = await gdn().run('chain', 'list', '--data-dir', dataDir, '--json')
    expect(stdout).not.toContain('secret-key')
    expect(JSON.parse(stdout).slice(0, 2)).toMatchObject([
      { blockchain: 'base', chain_id: 8453, currency: 'ETH', network: 'rpc', nodes: [new URL(base.url).host] },
      { blockchain: 'studio-chain', chain_id: STUDIO_CHAIN, currency: null, testnet: null, network: 'rpc' },
    ])

    await start()
    try {
      for (const [blockchain, url] of [['base', base.url] as const, ['studio-chain', studio.url] as const]) {
        const { id, contract, nft } = await mintOn(blockchain)
        collectionId = id
        const onChain = ['--on-chain', '--rpc-url', url, '--gateway', backend?.url ?? '']
        const verified = await gdn().json('nft', 'verify', nft, '-b', blockchain, '--owner', OWNER, ...onChain)
        expect(verified).toMatchObject({ isgdnnft: true })
        await writeFile(
          join(folder, `${blockchain}.csv`),
          `title,description,receiver,blockchain,contract_address\nDusk,Two,${OWNER},${blockchain},${contract}\n`,
        )
        const run = await gdn().run('batch', 'mint', join(folder, `${blockchain}.csv`), '--yes')
        expect(run).toMatchObject({ exitCode: 0 })
      }
      const metrics = await (await fetch(`${backend?.url}/metrics`)).text()
      expect(metrics).toMatch(/gdn_signer_balance_coins\{blockchain="studio-chain"/)
    } finally {
      await stop()
    }
  })

  test('the API accepts and announces the names of this backend only', async () => {
    await start()
    try {
      const create = (blockchain: string) =>
        post('/api/v1/createcollection', { name: 'One', blockchain, wallet_address: OWNER })
      const refused = await create('other-chain')
      expect(refused.status).toBe(400)
      expect(JSON.parse(refused.text).error).toMatchObject({
        title: 'Request Validation Error',
        message: expect.stringMatching(/^blockchain must be one of polygon, .*, studio-chain$/),
      })
      expect((await create('studio-chain')).status).toBe(200)
      const document = await (await fetch(`${backend?.url}/openapi.json`)).text()
      expect(document).toContain('"solana-testnet","studio-chain"]')
      expect((await post('/rpc/other-chain', {})).status).toBe(404)

      const misspelled = await gdn().run('nft', 'list', '-b', 'bse', '--json')
      expect(JSON.parse(misspelled.stderr).error).toMatchObject({ code: 'usage', hint: 'Did you mean base?' })
      const unknown = await gdn().run(
        ...['collection', 'create', '--name', 'No', '-b', 'other-chain', '--wallet', OWNER, '--yes', '--json'],
      )
      expect(unknown.exitCode).toBe(5)
      expect(JSON.parse(unknown.stderr).error.message).toContain('must be one of polygon')
    } finally {
      await stop()
    }
  })

  test('an export with such names can be imported', async () => {
    const copy = join(folder, 'copy')
    await mkdir(copy, { mode: 0o700 })
    for (const name of ['backend.yaml', 'operator.json', 'password']) await cp(join(dataDir, name), join(copy, name))
    const file = join(folder, 'all.jsonl')
    await gdn().json('db', 'export', file, '--data-dir', dataDir)
    await gdn().json('db', 'import', file, '--data-dir', copy)
    dataDir = copy
    await start()
    try {
      const answer = await post('/api/v1/getcollections', { transaction_gdn_ids: [collectionId] })
      expect(JSON.parse(answer.text).collections).toMatchObject([{ blockchain: 'studio-chain', status: 'deployed' }])
    } finally {
      await stop()
    }
  })
})
