/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { parseTransaction } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { SYSTEM_CLOCK } from '../../../src/core/time.ts'
import { parseUnits } from '../../../src/core/units.ts'
import { makeGasLimit, mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { createTestCollection, type TestBackend, until, WALLETS, withStore } from '../../helpers/backend.ts'
import { GWEI } from '../../helpers/gwei.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { folder } from '../batch/drop.ts'
import { type CliOptions, cli } from '../harness.ts'

/** The clock of these commands skips waits of 5 s or more: a minute is over before a busy backend is done. */
const PATIENT = ['--timeout', '1h']
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

const warningsOf = (backend: TestBackend) => async () => {
  const { warnings = [] } = (await (await backend.get('/readyz')).json()) as { warnings?: string[] }
  return warnings
}

/** Takes the signer's coins. A backend that hasn't seen this yet signs against the old balance, for up to 15 s. */
async function takeFunds(backend: TestBackend): Promise<void> {
  await give(0n)
  await until(warningsOf(backend), (list) => list.some((warning) => warning.includes('has 0 POL')))
}

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

/** The transactions that the backend has signed for a collection and its NFTs. */
const signed = (contract: string) =>
  withStore(place.dataDir, async ({ db }) => {
    const of = db.selectFrom('collections').select('id').where('contract_address', '=', contract)
    const rows = await db.selectFrom('transactions').select('raw').where('collection_id', 'in', of).execute()
    return rows.map(({ raw }) => parseTransaction(raw as Hex))
  })

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

const limitOf = (count: number) => mintGasLimit([{ receiver: '0x', count }])
/** A collection with the longest name, and each request of 120 and 40 NFTs in a transaction with its whole limit. */
const WORST_GAS =
  makeGasLimit({ name: 'n'.repeat(2000), symbol: 'NAME', royaltyBps: 1n }) +
  2n * limitOf(50) +
  limitOf(20) +
  40n * limitOf(1)
/** What the signer must have left for the last of them to be signed. */
const RESERVE_GAS = 3_000_000n - limitOf(1)

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
    const argv = ['batch', 'mint', path('drop.csv'), '-b', 'polygon', '-c', contract, '-y', '--json', ...PATIENT]
    const { code, stdout, stderr } = await cli(argv, { ...options, env })
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ deployed: 160, failed: 0 })
    const sent = await signed(contract)
    const [price = 0n] = sent.map(({ maxFeePerGas }) => maxFeePerGas)
    expect(funding).toBe(price * (WORST_GAS + RESERVE_GAS))
    // Bundles need less than the amount, so a signer with one wei less completes this drop as well.
    expect(sent.reduce((sum, { gas = 0n }) => sum + gas, 0n)).toBeLessThan(WORST_GAS / 2n)
    expect(await balance()).toBeGreaterThan(price * RESERVE_GAS)
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
  await give(funding - 1n)
  const [warning] = await until(warningsOf(backend), (list) => list.length > 0)
  const missing = `the signer ${place.operator} has 0.008999 POL on polygon and needs 0.009: send 0.000000000000000001 POL`
  expect(warning).toBe(`polygon: ${missing}`)
  const mint = ['nft', 'mint', '--title', 'Dawn', '--receiver', WALLETS[0], '-b', 'polygon', '-c', contract, '-y']
  const refused = await cli(mint, { ...options, env })
  expect(refused.code).toBe(6)
  expect(refused.stderr).toContain(missing)
  await give(funding)
  await until(warningsOf(backend), (list) => list.length === 0)
  const minted = await cli(mint, { ...options, env })
  expect(minted.code, minted.stderr).toBe(0)
})

/** A configuration that is not set up, on the same network, with an admin. */
async function writeAdmin(path: (name: string) => string) {
  const key = generatePrivateKey()
  await mkdir(path('data'), { mode: 0o700 })
  await writeKeystore(path('data/admin.json'), key)
  await writeKeystore(path('data/operator.json'), generatePrivateKey())
  await writePassword(path('data/password'))
  const operators = [{ keystore: 'operator.json', password_file: 'password' }]
  const chain = { rpc_urls: [real.url], confirmations: 2, finality: 6, operators }
  await writeFile(path('data/backend.yaml'), JSON.stringify({ chains: { polygon: chain } }), { mode: 0o600 })
  const keys = ['--admin-keystore', path('data/admin.json'), '--password-file', path('data/password')]
  return { address: privateKeyToAccount(key).address, flags: ['--data-dir', path('data'), ...keys] }
}

test('gdn chain status and setup say the least balance with which a signer signs', async () => {
  const { path, options } = await folder({})
  const admin = await writeAdmin(path)
  const data = ['--data-dir', place.dataDir, '--json']
  await mineAt(GWEI)
  const status = async () => JSON.parse((await cli(['chain', 'status', 'polygon', ...data])).stdout)[0]
  const { needed } = await status()
  const wei = parseUnits(needed) ?? 0n
  await give(wei)
  expect(await status()).toMatchObject({ needed: '0.009', problem: null })
  const setup = (...more: string[]) => cli(['chain', 'setup', 'polygon', '--dry-run', ...admin.flags, ...more], options)
  const { cost, needed_per_operator } = JSON.parse((await setup('--json')).stdout)
  expect(needed_per_operator).toBe(needed)
  // The admin needs exactly the cost of the setup.
  const most = parseUnits(cost) ?? 0n
  await real.call('anvil_setBalance', [admin.address, hex(most)])
  expect((await setup()).stderr).not.toContain('Send coins')
  await real.call('anvil_setBalance', [admin.address, hex(most - 1n)])
  expect((await setup()).stderr).toMatch(/^Send coins before the setup: the admin 0x\w{40} has .*: send 0\.0{17}1 POL/m)
  await give(wei - 1n)
  expect(await status()).toMatchObject({
    needed: '0.009',
    problem: expect.stringMatching(
      /^the signer 0x\w{40} has 0\.008999 POL on polygon and needs 0\.009: send 0\.0{17}1 POL/,
    ),
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
  await takeFunds(backend)
  baseFee = GWEI
  const status = async () =>
    JSON.parse((await cli(['chain', 'status', 'polygon', '--data-dir', place.dataDir, '--json'])).stdout)[0]
  const { problem, waiting, waiting_nfts } = await until(status, (seen) => seen.needed === '0.009')
  expect({ waiting, waiting_nfts }).toEqual({ waiting: 0, waiting_nfts: 24 })
  const lack =
    /has 0 POL on polygon and needs ([0-9.]+): send \1 POL, which covers 24 pending NFTs at the current fees$/
  const all = parseUnits(lack.exec(problem)?.[1] ?? '') ?? 0n
  expect(all, problem).toBeGreaterThanOrEqual(funding)
  expect(all - funding, problem).toBeLessThan(10n ** 12n)
  // Warnings are read at fees that were asked for before.
  await until(warningsOf(backend), (list) => list.includes(`polygon: ${problem}`))
  await give(all)
  const { code, stdout } = await cli(['batch', 'mint', ...argv, '-y', '--json', ...PATIENT], { ...options, env })
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { deployed: 24, failed: 0 }])
})

/** Mints, and gives the signer the amount that the first message of this form names. */
async function mintAndPay(argv: readonly string[], options: CliOptions, lack: RegExp) {
  let [said, payment] = ['', 0n]
  const { code, stdout, stderr } = await cli(argv, {
    ...options,
    onStdout: (text) => {
      said += text
      if (payment > 0n) return
      payment = parseUnits(lack.exec(said)?.[1] ?? '') ?? 0n
      if (payment > 0n) void give(payment)
    },
  })
  expect(code, stderr + stdout).toBe(0)
  return { payment, summary: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') }
}

test('a shortage of a run also covers its unsent rows: one payment completes the drop', async () => {
  const { path, options } = await folder({ 'first.csv': manifest(0, 10), 'drop.csv': manifest(3, 27) })
  let baseFee = GWEI
  onTestFinished(real.mineEvery(20, () => baseFee))
  await give(10n ** 20n)
  const backend = await start()
  const env = { ...options.env, ...at(backend) }
  const contract = await newCollection({ ...options, env })
  const target = ['-b', 'polygon', '-c', contract]
  const cost = (file: string) => fundingOf([path(file), '-c', contract], { ...options, env })
  const [first, drop] = [await cost('first.csv'), await cost('drop.csv')]
  // Above max_fee_gwei, rows are accepted and nothing is signed.
  baseFee = 2000n * GWEI
  await until(
    () => cost('drop.csv'),
    (wei) => wei > 100n * drop,
  )
  await cli(['batch', 'mint', path('first.csv'), ...target, '-y', '--no-wait', '--json'], { ...options, env })
  await takeFunds(backend)
  baseFee = GWEI
  await until(warningsOf(backend), (list) =>
    list.some((warning) => warning.endsWith('10 pending NFTs at the current fees')),
  )
  await until(
    () => cost('drop.csv'),
    (wei) => wei === drop,
  )
  const lack =
    /has 0 POL on polygon and needs ([0-9.]+): send \1 POL, which covers 10 pending NFTs and 30 unsent rows at the current fees/
  const argv = ['batch', 'mint', path('drop.csv'), ...target, '-y', '-o', 'ndjson', ...PATIENT]
  const { payment, summary } = await mintAndPay(argv, { ...options, env }, lack)
  expect(summary).toMatchObject({ deployed: 30, failed: 0 })
  // As gdn cost says for all 40 rows: the reserve counts once.
  const reserve = (RESERVE_GAS * first) / (10n * limitOf(1) + RESERVE_GAS)
  expect(payment).toBeGreaterThanOrEqual(first + drop - reserve)
  expect(payment - (first + drop - reserve)).toBeLessThan(10n ** 12n)
})

test('a shortage of a run with a limit names no more than the limit can pay, and that completes the drop', async () => {
  const { path, options } = await folder({ 'drop.csv': manifest(0, 12) })
  await mineAt(GWEI)
  await give(10n ** 20n)
  const first = await place.start()
  const contract = await newCollection({ ...options, env: { ...options.env, ...at(first) } })
  await first.close()
  await give(0n)
  // A backend that has seen a rich signer looks again only after 15 s.
  const env = { ...options.env, ...at(await start()) }
  const target = [path('drop.csv'), '-b', 'polygon', '-c', contract]
  const funding = await fundingOf([path('drop.csv'), '-c', contract], { ...options, env })
  const lack =
    /has 0 POL on polygon and needs ([0-9.]+): send \1 POL, which covers 12 unsent rows at the current fees, up to the run's cost limit \(0\.0027 POL left\)/
  const argv = ['batch', 'mint', ...target, '-y', '-o', 'ndjson', ...PATIENT, '--max-cost', '0.0027']
  const { payment, summary } = await mintAndPay(argv, { ...options, env }, lack)
  // A signer keeps 0.009 POL.
  expect(payment).toBe(parseUnits('0.0117'))
  expect(payment).toBeLessThan(funding)
  expect(summary).toMatchObject({ deployed: 12, failed: 0 })
})

describe('a signer that runs out of funds while a plan is applied', () => {
  const HEAD = 'id,title,description,receiver\n'
  const row = (id: string, title: string, receiver: string) => `${id},${title},x,${receiver}\n`

  /** Blocks that are slow enough for the backend to see the balance after each transaction. */
  async function mineSlowly(): Promise<void> {
    await real.mine(1, GWEI)
    onTestFinished(real.mineEvery(1000, () => GWEI))
  }

  /** Starts the backend of a collection with an edited drop, once its signer has so much. */
  async function startEdited(drop: string, before: string, after: string, gwei: bigint, options: CliOptions) {
    await give(10n ** 20n)
    const first = await place.start()
    const { address } = await createTestCollection(first, { dynamic: true, enable_transfer: true })
    const target = [drop, '-c', address, '-b', 'polygon', '-y']
    await writeFile(drop, HEAD + before)
    const minted = await cli(['batch', 'mint', ...target, '--json'], {
      ...options,
      env: { ...options.env, ...at(first) },
    })
    expect(minted.code, minted.stderr).toBe(0)
    await first.close()
    await writeFile(drop, HEAD + after)
    await give(gwei * GWEI)
    // A backend that has seen a rich signer looks again only after 15 s.
    const backend = await start()
    return { target, options: { ...options, env: { ...options.env, ...at(backend) }, clock: SYSTEM_CLOCK } }
  }

  test.each([
    ['before its mint', 8_999_000n],
    ['after its mint', 9_000_000n],
  ])('%s: one payment completes all changes', async (_, gwei) => {
    const rows = (title: string, receiver: string) => row('a', title, WALLETS[1]) + row('b', 'Two', receiver)
    const more = rows('Other', WALLETS[2]) + row('c', 'Three', WALLETS[1])
    const { path, options: own } = await folder({})
    await mineSlowly()
    const { target, options } = await startEdited(path('drop.csv'), rows('One', WALLETS[1]), more, gwei, own)
    let [said, payment] = ['', 0n]
    const lack = /needs ([0-9.]+): send ([0-9.]+) POL, which covers (?:1 unsent row and )?(\d) changes? at the current/
    const { code, stdout, stderr } = await cli(['apply', ...target, '--timeout', '60s'], {
      ...options,
      onStderr: (text) => {
        said += text
        if (payment > 0n) return
        payment = parseUnits(lack.exec(said)?.[2] ?? '') ?? 0n
        if (payment > 0n) void balance().then((wei) => give(wei + payment))
      },
    })
    expect(code, stderr + stdout).toBe(0)
    expect(stdout).toMatch(/minted\s+1\nupdated\s+1\ntransferred\s+1\n/)
    expect(payment, stderr).toBeGreaterThan(0n)
    expect(said).toMatch(/^The signer 0x\w+ has 0\.00\d+ POL, but the command may need 0\.0[01]\d+ POL/m)
  })

  test('prints what was made, and what all other changes need, if no payment arrives', async () => {
    const rows = (title: string, receiver: string) => row('a', title, WALLETS[1]) + row('b', 'Two', receiver)
    const more = rows('Other', WALLETS[2]) + row('c', 'Three', WALLETS[1])
    const { path, options: own } = await folder({})
    await mineSlowly()
    const { target, options } = await startEdited(path('drop.csv'), rows('One', WALLETS[1]), more, 9_000_000n, own)
    const { code, stdout, stderr } = await cli(['apply', ...target, '--timeout', '30s', '--json'], options)
    // The last change may be accepted before the backend sees the balance, or its request may be in flight at the end.
    expect([6, 8, 9], stdout + stderr).toContain(code)
    const applyData = JSON.parse(stdout)
    expect(applyData).toMatchObject({ minted: 1, transferred: 0 })
    const { message, hint } = JSON.parse(stderr).error
    if (code === 9) return
    expect(message).toMatch(/which covers [12] changes? at the current fees$/)
    expect(hint).not.toContain('Nothing was accepted')
    if (code === 8) return
    expect(applyData.fee_paid_wei).toMatch(/^[1-9]/)
    const count = 1 + applyData.updated
    expect(hint).toContain(`${count} of 3 changes ${count === 1 ? 'was' : 'were'} made`)
    expect(hint).toMatch(/Fund the signer or .*\nThen run `gdn apply .*` to resume\.$/)
  })
})
