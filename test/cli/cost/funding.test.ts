/** @module-tag slow */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseUnits } from '../../../src/core/units.ts'
import { type TestBackend, until, WALLETS } from '../../helpers/backend.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { folder } from '../drop.ts'
import { cli } from '../harness.ts'

const GWEI = 10n ** 9n
const hex = (value: bigint) => `0x${value.toString(16)}`

let real: PublicNetwork
let place: NetworkPlace
beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
})
afterAll(async () => {
  await place?.remove()
  await real?.close()
})

const give = (wei: bigint) => real.call('anvil_setBalance', [place.operator, hex(wei)])
const balance = async () => BigInt(await real.call<string>('eth_getBalance', [place.operator, 'latest']))

/** Mines blocks with the same base fee until the test ends. Resolves after the first one. */
async function mineAt(baseFee: bigint): Promise<void> {
  await real.mine(1, baseFee)
  onTestFinished(real.mineEvery(20, () => baseFee))
}

async function start(): Promise<TestBackend> {
  const backend = await place.start()
  onTestFinished(() => backend.close())
  return backend
}

const at = ({ url, apiKey }: TestBackend) => ({ GDN_BASE_URL: url, GDN_API_KEY: apiKey.reveal() })
const newWallet = () => privateKeyToAccount(generatePrivateKey()).address

/** A manifest with NFTs for a receiver of several requests, and for others of one. */
const manifest = (same: number, others: number) =>
  [
    'title,description,receiver',
    ...Array.from({ length: same }, (_, index) => `Same ${index},one of many,${WALLETS[0]}`),
    ...Array.from({ length: others }, (_, index) => `Other ${index},one of many,${newWallet()}`),
    '',
  ].join('\n')

/** What `gdn cost` says that a drop needs. */
async function fundingOf(argv: readonly string[], options: object): Promise<bigint> {
  const { code, stdout, stderr } = await cli(['cost', ...argv, '-b', 'polygon', '--json'], options)
  expect(code, stderr).toBe(0)
  return BigInt(JSON.parse(stdout).funding_wei)
}

async function newCollection(options: object): Promise<string> {
  const argv = ['collection', 'create', '-b', 'polygon', '--name', 'Tide', '--wallet', WALLETS[0], '-y', '-o', 'ids']
  const { code, stdout, stderr } = await cli(argv, options)
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

describe('a signer with exactly what gdn cost says', () => {
  test.each([
    ['at usual fees', GWEI],
    ['at the lowest fees', 7n],
    ['if transactions pay all that they offer', 1000n * GWEI],
  ])('completes the drop with its collection %s', async (_, baseFee) => {
    const { path, options } = await folder({ 'drop.csv': manifest(120, 40) })
    await mineAt(baseFee)
    const funding = await fundingOf([path('drop.csv'), '--rpc-url', real.url], options)
    await give(funding)
    const backend = await start()
    const env = { ...options.env, ...at(backend) }
    expect(await fundingOf([path('drop.csv')], { ...options, env })).toBe(funding)
    const contract = await newCollection({ ...options, env })
    const argv = ['batch', 'mint', path('drop.csv'), '-b', 'polygon', '-c', contract, '-y', '--json']
    const { code, stdout, stderr } = await cli(argv, { ...options, env })
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ deployed: 160, failed: 0 })
    expect(await balance()).toBeLessThan(funding)
  })
})

test('a signer with one wei less refuses a mint, with its address, its network and what is missing', async () => {
  const { path, options } = await folder({ 'drop.csv': manifest(1, 0) })
  await mineAt(GWEI)
  await give(10n ** 20n)
  const backend = await start()
  const env = { ...options.env, ...at(backend) }
  const contract = await newCollection({ ...options, env })
  const funding = await fundingOf([path('drop.csv'), '-c', contract], { ...options, env })
  const warnings = async () => ((await (await backend.get('/readyz')).json()) as { warnings?: string[] }).warnings
  await give(funding - 1n)
  const [warning] = (await until(warnings, (list) => (list ?? []).length > 0)) ?? []
  const missing =
    `the signer ${place.operator} has 0.008999 POL on polygon and needs 0.009: ` +
    '0.000000000000000001 POL are missing'
  expect(warning).toBe(`polygon: ${missing}`)
  const mint = ['nft', 'mint', '--title', 'Dawn', '--receiver', WALLETS[0], '-b', 'polygon', '-c', contract, '-y']
  const refused = await cli(mint, { ...options, env })
  expect(refused.code).toBe(6)
  expect(refused.stderr).toContain(missing)
  await give(funding)
  await until(warnings, (list) => (list ?? []).length === 0)
  const minted = await cli(mint, { ...options, env })
  expect(minted.code, minted.stderr).toBe(0)
})

test('gdn chain status and setup say the least balance with which a signer signs', async () => {
  const data = ['--data-dir', place.dataDir, '--json']
  await mineAt(GWEI)
  const status = async () => JSON.parse((await cli(['chain', 'status', 'polygon', ...data])).stdout)[0]
  const { needed } = await status()
  const wei = parseUnits(needed) ?? 0n
  await give(wei)
  expect(await status()).toMatchObject({ needed: '0.009', problem: null })
  await give(wei - 1n)
  expect(await status()).toMatchObject({
    needed: '0.009',
    problem: expect.stringMatching(/^the signer 0x\w{40} has 0\.008999 POL on polygon and needs 0\.009: 0\.0{17}1 POL/),
  })
})

test('a shortage also names what all waiting NFTs need, as gdn cost does, and that completes them', async () => {
  const { path, options } = await folder({ 'drop.csv': manifest(0, 24) })
  let baseFee = GWEI
  onTestFinished(real.mineEvery(20, () => baseFee))
  await give(10n ** 20n)
  const backend = await start()
  const env = { ...options.env, ...at(backend) }
  const contract = await newCollection({ ...options, env })
  const argv = [path('drop.csv'), '-b', 'polygon', '-c', contract]
  const cost = () => fundingOf([path('drop.csv'), '-c', contract], { ...options, env })
  const funding = await cost()
  // Above max_fee_gwei, rows are accepted and nothing is signed.
  baseFee = 2000n * GWEI
  await until(cost, (wei) => wei > 100n * funding)
  await cli(['batch', 'mint', ...argv, '-y', '--no-wait', '--json'], { ...options, env })
  await give(0n)
  baseFee = GWEI
  const status = async () =>
    JSON.parse((await cli(['chain', 'status', 'polygon', '--data-dir', place.dataDir, '--json'])).stdout)[0]
  const { problem, waiting, waiting_nfts } = await until(status, (seen) => seen.needed === '0.009')
  expect({ waiting, waiting_nfts }).toEqual({ waiting: 0, waiting_nfts: 24 })
  const lack = /has 0 POL on polygon and needs 0\.009: 0\.009 POL are missing, and ([0-9.]+) POL for 24 waiting NFTs$/
  const all = parseUnits(lack.exec(problem)?.[1] ?? '') ?? 0n
  expect(all, problem).toBeGreaterThanOrEqual(funding)
  expect(all - funding, problem).toBeLessThan(10n ** 12n)
  const warnings = async () => ((await (await backend.get('/readyz')).json()) as { warnings?: string[] }).warnings ?? []
  // Warnings are read at fees that were asked for before.
  await until(warnings, (list) => list.includes(`polygon: ${problem}`))
  await give(all)
  const { code, stdout } = await cli(['batch', 'mint', ...argv, '-y', '--json'], { ...options, env })
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { deployed: 24, failed: 0 }])
})
