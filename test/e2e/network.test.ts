import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { writeKeystore, writePassword } from '../helpers/keystore-file.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const COIN = 10n ** 18n

let network: PublicNetwork
let folder: string
let dataDir: string
let stopMining = () => {}
let isHalted = false
const admin = generatePrivateKey()
const operators = [generatePrivateKey(), generatePrivateKey()] as const
const addressOf = (key: `0x${string}`) => privateKeyToAccount(key).address
const fund = (key: `0x${string}`, wei: bigint) =>
  network.call('anvil_setBalance', [addressOf(key), `0x${wei.toString(16)}`])

async function settings(named: readonly string[]): Promise<void> {
  const text = `chains:
  polygon:
    rpc_urls: ['http://127.0.0.1:1', '${network.url}']
    confirmations: 2
    finality: 3
    poll_seconds: 0.1
    operators:
${named.map((name) => `      - { keystore: ${name}, password_file: password }`).join('\n')}
`
  await writeFile(join(dataDir, 'backend.yaml'), text, { mode: 0o600 })
}

const bare = () => gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, folder)
const setup = (...more: string[]) => [
  ...['chain', 'setup', 'polygon', '--data-dir', dataDir, '--admin-keystore', join(folder, 'admin.json')],
  ...['--password-file', join(folder, 'password'), ...more],
]
const as = ({ url, apiKey }: ServedBackend) => gdnAt({ url, apiKey }, folder)
const begin = () => serve(dataDir, ['--rate-limits', 'off']).ready

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-network-'))
  dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  network = await startPublicNetwork()
  const mining = setInterval(() => {
    if (!isHalted) network.mine().catch(() => {})
  }, 150)
  stopMining = () => clearInterval(mining)
  await writePassword(join(folder, 'password'))
  await writeKeystore(join(folder, 'admin.json'), admin)
  for (const [index, key] of operators.entries()) await writeKeystore(join(dataDir, `op${index}.json`), key)
  await writePassword(join(dataDir, 'password'))
  await settings(['op0.json'])
})
afterAll(async () => {
  stopMining()
  await network?.close()
  await rm(folder, { recursive: true, force: true })
})

test('the admin sets a network up once, and pays the cost that was estimated', async () => {
  const planned = await bare().json<{ status: string; cost: string; gas: number }>(...setup('--dry-run'))
  expect(planned).toMatchObject({ status: 'planned', chain_id: 137, factory: null, balance: '0' })
  expect(Number(planned.cost)).toBeGreaterThan(0)

  const poor = await bare().run(...setup('--yes', '--json'))
  expect(poor.exitCode).toBe(5)
  expect(JSON.parse(poor.stderr).error.message).toMatch(
    /^the admin 0x\w+ has 0 POL on polygon and needs (0\.00\d+): send \1 POL$/,
  )

  await fund(admin, 100n * COIN)
  const unasked = await bare().run(...setup('--json'))
  expect(unasked.exitCode).toBe(3)
  expect(await network.call('eth_getTransactionCount', [addressOf(admin), 'pending'])).toBe('0x0')

  const done = await bare().json<{ factory: string }>(...setup('--yes'))
  expect(done).toMatchObject({ status: 'done', operators: [addressOf(operators[0])] })
  expect(await network.call('eth_getCode', [done.factory, 'latest'])).not.toBe('0x')
  const spent = 100n * COIN - BigInt(await network.call<string>('eth_getBalance', [addressOf(admin), 'latest']))
  expect(spent).toBeLessThan(BigInt(Math.ceil(Number(planned.cost) * 1e18)))

  const again = await bare().json(...setup('--yes'))
  expect(again).toMatchObject({ status: 'done', factory: done.factory, gas: 0 })
  expect(await network.call('eth_getTransactionCount', [addressOf(admin), 'latest'])).toBe('0x1')
})

test('rejects collections, mints and transfers without funds, and accepts them when funds return', async () => {
  await fund(operators[0], 0n)
  const backend = await begin()
  try {
    const gdn = as(backend)
    const create = ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER, '--enable-transfer']
    const unconfirmed = await gdn.run(...create, '--json')
    expect([unconfirmed.exitCode, JSON.parse(unconfirmed.stderr.trim()).error.code]).toEqual([3, 'not_confirmed'])
    const ask = async () => {
      const response = await fetch(`${backend.url}/api/v1/createcollection`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey },
        body: JSON.stringify({ name: 'Poor', blockchain: 'polygon', wallet_address: OWNER }),
      })
      return { status: response.status, text: await response.text() }
    }
    const refused = await until(ask, ({ status }) => status === 503)
    expect(refused.text).toMatch(/ has 0 POL on polygon and needs [0-9.]+: send [0-9.]+ POL/)

    const missing = await gdn.run(...create, '--yes', '--json')
    const { error } = JSON.parse(missing.stderr.trim())
    expect([missing.exitCode, error.code]).toEqual([6, 'not_ready'])
    expect(error.message).toMatch(/^the signer 0x\w+ has 0 POL on polygon and needs [0-9.]+: send [0-9.]+ POL$/)

    await fund(operators[0], 10n * COIN)
    await until(ask, ({ status }) => status === 200)
    const { contract_address: contract } = await gdn.json<{ contract_address: string }>(...create, '--yes')
    const minted = await gdn.json<{ nft_gdn_id: string; status: string }>(
      ...['nft', 'mint', '-c', contract, '-b', 'polygon', '--receiver', OWNER, '--title', 'Dawn', '--yes'],
    )
    expect(minted).toMatchObject({ status: 'deployed', token_id: '1' })
    await gdn.json('nft', 'transfer', minted.nft_gdn_id, '--receiver', OTHER, '--yes')
    const verified = await gdn.json<{ owner: string }>(
      ...['nft', 'verify', minted.nft_gdn_id, '-b', 'polygon', '--owner', OTHER],
    )
    expect(verified).toMatchObject({ isgdnnft: true })
    const rpc = await fetch(`${backend.url}/rpc/polygon`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    })
    expect(rpc.status).toBe(404)
    const metrics = await (await fetch(`${backend.url}/metrics`)).text()
    expect(metrics).toMatch(
      new RegExp(`gdn_signer_balance_coins\\{blockchain="polygon",signer="${addressOf(operators[0])}"\\} [0-9.]+`),
    )
  } finally {
    await backend.end('SIGTERM')
  }
})

test('shows missing funds everywhere during a batch, and resumes the batch when funds return', async () => {
  const [{ max_fee_gwei: fee }] = await bare().json<[{ max_fee_gwei: string }]>(
    ...['chain', 'status', 'polygon', '--data-dir', dataDir],
  )
  // Enough for a collection and one request, but not for many.
  await fund(operators[0], (BigInt(Math.ceil(Number(fee) * 1e9)) * 3_700_000n * 11n) / 10n)
  const backend = await begin()
  try {
    const gdn = as(backend)
    const { contract_address: contract } = await gdn.json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Poor', '-b', 'polygon', '--wallet', OWNER, '--yes'],
    )
    const rows = Array.from({ length: 300 }, (_, row) => `Row ${row},One of many,${row % 50 < 25 ? OWNER : OTHER}`)
    const csv = await gdn.file('drop.csv', `title,description,receiver\n${rows.join('\n')}\n`)
    const batch = gdn.run('batch', 'mint', csv, '-c', contract, '-b', 'polygon', '--rate', '20', '--yes', '--json')

    const told = await until(
      async () => (await fetch(`${backend.url}/readyz`)).json() as Promise<{ ready: boolean; warnings?: string[] }>,
      ({ warnings = [] }) => warnings.length > 0,
    )
    expect(told).toMatchObject({ ready: true, warnings: [expect.stringMatching(/: send \S+ POL/)] })
    const metrics = await (await fetch(`${backend.url}/metrics`)).text()
    expect(metrics).toContain('gdn_network_hindered{blockchain="polygon"} 1')
    const status = await bare().run('chain', 'status', 'polygon', '--data-dir', dataDir, '--json')
    expect(status.exitCode).toBe(5)
    expect(JSON.parse(status.stdout)).toMatchObject([
      {
        problem: expect.stringMatching(
          /^the signer 0x\w+ has 0\.\d+ POL on polygon and needs 0\.\d+: send 0\.\d+ POL$/,
        ),
      },
    ])
    const doctor = await gdn.json<{ check: string; status: string; message: string }[]>('doctor')
    expect(doctor.find(({ check }) => check === 'backend')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/: send \S+ POL/),
    })
    // Only transactions that can be paid are signed, so all of them are mined.
    const list = () =>
      bare().json<{ hash: string }[]>('tx', 'list', '--state', 'signed', '--data-dir', dataDir, '--limit', '1000')
    expect(await until(list, (waiting) => waiting.length === 0)).toEqual([])

    await fund(operators[0], 10n * COIN)
    const ended = await batch
    expect(ended.exitCode, ended.stderr).toBe(0)
    const minted = await gdn.json<{ status: string }[]>('nft', 'list', '-c', contract, '-b', 'polygon')
    expect(minted.map(({ status: of }) => of)).toEqual(new Array(300).fill('deployed'))
    const healed = await until(
      async () => (await fetch(`${backend.url}/metrics`)).text(),
      (text) => text.includes('gdn_network_hindered{blockchain="polygon"} 0'),
    )
    expect(healed).toContain('gdn_network_hindered{blockchain="polygon"} 0')
  } finally {
    await backend.end('SIGTERM')
  }
})

test('an added signer signs only once it is authorized, and then shares the work', async () => {
  await settings(['op0.json', 'op1.json'])
  await fund(operators[1], 10n * COIN)
  const status = () =>
    bare().json<{ signer: string; problem: string | null }[]>('chain', 'status', 'polygon', '--data-dir', dataDir)
  expect((await status()).map(({ problem }) => problem)).toEqual([
    null,
    expect.stringMatching(/^the factory has not authorized this signer: run `gdn chain setup polygon /),
  ])
  expect(await bare().json(...setup('--dry-run'))).toMatchObject({ to_appoint: [addressOf(operators[1])] })
  isHalted = true
  const settingUp = bare().json(...setup('--yes'))
  const isWaiting = (pool: readonly unknown[]) => pool.length > 0
  expect(await until(() => network.pool(), isWaiting)).toHaveLength(1)
  // It has its confirmations, but a reorg reverts and drops it anyway.
  await network.mine(2)
  expect((await status()).map(({ problem }) => problem)).toEqual([null, null])
  await network.reorg(2)
  expect(await until(() => network.pool(), isWaiting)).toHaveLength(1)
  isHalted = false
  expect(await settingUp).toMatchObject({ to_appoint: [addressOf(operators[1])] })
  expect((await status()).map(({ problem }) => problem)).toEqual([null, null])
  const backend = await begin()
  try {
    const gdn = as(backend)
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        gdn.json<{ status: string }>(
          ...['collection', 'create', '--name', `C${index}`, '-b', 'polygon', '--wallet', OWNER, '--yes'],
        ),
      ),
    )
    expect(made.map(({ status: of }) => of)).toEqual(new Array(6).fill('deployed'))
    expect(Number(await network.call('eth_getTransactionCount', [addressOf(operators[1]), 'latest']))).toBeGreaterThan(
      0,
    )
  } finally {
    await backend.end('SIGTERM')
  }
})

test.each([
  ['a keystore that others may read', () => chmod(join(dataDir, 'op0.json'), 0o644), 'chmod 600'],
  ['a wrong password', () => writeFile(join(dataDir, 'password'), 'wrong\n'), 'the password is wrong'],
  ['a field that is misspelt', () => replaceInSettings('confirmations', 'confirmation'), 'confirmation'],
  [
    'another network of the same name',
    () => replaceInSettings('confirmations: 2', 'confirmations: 2\n    chain_id: 80002'),
    '80002',
  ],
])('%s prevents the start of the backend with an error that names the location', async (_, spoil, message) => {
  const kept = await Promise.all(['op0.json', 'password', 'backend.yaml'].map((name) => readFile(join(dataDir, name))))
  try {
    await spoil()
    const { exitCode, stderr } = await bare().run('serve', '--data-dir', dataDir, '--port', '0', '--json')
    expect({ exitCode, told: stderr.includes(message) }, stderr).toEqual({ exitCode: 2, told: true })
  } finally {
    for (const [index, name] of ['op0.json', 'password', 'backend.yaml'].entries()) {
      await writeFile(join(dataDir, name), kept[index] ?? '', { mode: 0o600 })
      await chmod(join(dataDir, name), 0o600)
    }
  }
})

async function replaceInSettings(what: string, by: string): Promise<void> {
  const path = join(dataDir, 'backend.yaml')
  await writeFile(path, (await readFile(path, 'utf8')).replace(what, by))
}
