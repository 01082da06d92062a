/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { until } from '../../helpers/backend.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { fund } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { type SignerService, startSignerService } from '../../helpers/signer-service.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { cli, errorOf } from '../harness.ts'

let real: PublicNetwork
let service: SignerService
let dataDir: string
let stopMining: () => Promise<void>

beforeEach(async () => {
  real = await startPublicNetwork([], { accounts: 2 })
  service = await startSignerService(real.url)
  dataDir = join(await temporaryFolder('gdn-setup-'), 'data')
  await mkdir(dataDir, { mode: 0o700 })
  stopMining = real.mineEvery(30)
})
afterEach(async () => {
  await stopMining()
  await service?.close()
  await real?.close()
})

async function configure(operators: readonly object[], more: object = {}): Promise<void> {
  const fast = { confirmations: 2, finality: 6, poll_seconds: 0.1 }
  const chain = { rpc_urls: [real.url], ...fast, operators, ...more }
  await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify({ chains: { polygon: chain } }), { mode: 0o600 })
}

const setup = (...argv: string[]) => cli(['chain', 'setup', 'polygon', '--data-dir', dataDir, '--json', ...argv])

test('sets a network up with admin and operators in remote signers, and authorizes another operator later', async () => {
  const [admin, operator] = await real.call<[Hex, Hex]>('eth_accounts')
  const inService = (address: Hex) => ({ remote_signer: service.url, address })
  await configure([inService(operator)], { admin: inService(admin) })
  const first = await setup('--yes')
  expect(first).toMatchObject({ code: 0 })
  const done = JSON.parse(first.stdout)
  expect(done.status).toBe('done')
  expect([done.admin, ...done.operators].map((address: string) => address.toLowerCase())).toEqual([admin, operator])
  // The factory's constructor authorizes its operators.
  expect(service.asked).toHaveLength(1)

  const key = generatePrivateKey()
  await fund(real, privateKeyToAccount(key).address)
  await writeKeystore(join(dataDir, 'operator.json'), key)
  await writePassword(join(dataDir, 'password'))
  const keystore = { keystore: 'operator.json', password_file: 'password' }
  await configure([inService(operator), keystore], { admin: inService(admin) })
  expect(JSON.parse((await setup('--yes')).stdout)).toMatchObject({ status: 'done', factory: done.factory })
  expect(service.asked).toHaveLength(2)
  expect(service.asked[1]?.to?.toLowerCase()).toBe(done.factory.toLowerCase())
  const list = await cli(['chain', 'list', '--data-dir', dataDir, '--json'])
  const { host } = new URL(service.url)
  expect(JSON.parse(list.stdout)[0].operators).toEqual([
    `${done.operators[0]} at ${host}`,
    join(dataDir, 'operator.json'),
  ])

  await configure([keystore])
  expect(errorOf(await setup('--yes')).message).toMatch(
    /--admin-keystore: is required, because the configuration has no/,
  )
})

test('stores and sends nothing if the signer of the admin signs something else', { tags: ['promise'] }, async () => {
  const [admin, operator] = await real.call<[Hex, Hex]>('eth_accounts')
  const inService = (address: Hex) => ({ remote_signer: service.url, address })
  await configure([inService(operator)], { admin: inService(admin) })
  service.onSign = async (request) => {
    const call = { method: 'eth_signTransaction', params: [{ ...request, gas: '0x5b8d80' }] }
    return { json: { jsonrpc: '2.0', id: 1, result: await real.call(call.method, call.params) } }
  }
  expect(errorOf(await setup('--yes'))).toMatchObject({
    code: 'bad_answer',
    message: expect.stringMatching(/returned a transaction that was not requested: its gas is 6000000 instead of/),
  })
  expect(await real.call('eth_getTransactionCount', [admin, 'latest'])).toBe('0x0')
})

describe('for people', () => {
  const inService = (address: Hex) => ({ remote_signer: service.url, address })
  const shown = (...argv: string[]) => cli(['chain', ...argv, '--data-dir', dataDir], { tty: true })

  async function accounts(): Promise<{ admin: Hex; operator: Hex }> {
    const [admin, operator] = await real.call<[Hex, Hex]>('eth_accounts')
    return { admin, operator }
  }

  async function configureBoth(): Promise<{ admin: Hex; operator: Hex }> {
    const { admin, operator } = await accounts()
    await configure([inService(operator)], { admin: inService(admin) })
    return { admin, operator }
  }

  test('shows the maximum cost with its unit, and what is missing, in a dry run', async () => {
    const { admin } = await configureBoth()
    await real.call('anvil_setBalance', [admin, '0x1'])
    const { stdout, stderr } = await shown('setup', 'polygon', '--dry-run')
    expect(stdout).toMatch(/^COST +at most 0\.\d+ POL for 4,\d{3},\d{3} gas$/m)
    expect(stdout).toMatch(/^BALANCE +0\.\d+ POL$/m)
    expect(stdout).toMatch(/^NEEDED PER OPERATOR +at least 0\.\d+ POL; for a drop, see gdn cost$/m)
    expect(stderr).toMatch(/^Send coins before the setup: the admin 0x\w+ has .*: send \S+ POL\.$/m)
    const json = JSON.parse((await setup('--dry-run')).stdout)
    expect(json).toMatchObject({ currency: 'POL', cost: expect.stringMatching(/^0\.\d+$/), deployment_cost: null })
  })

  test('shows what the deployment paid, also in a run that only waited for it', async () => {
    await configureBoth()
    // Slow enough that the setup sees the deployment before it is final.
    await stopMining()
    stopMining = real.mineEvery(200)
    const first = await cli(['chain', 'setup', 'polygon', '--data-dir', dataDir, '--yes'])
    expect(first.code).toBe(0)
    // A log gets the line only once, too.
    expect(first.stderr.match(/^Waiting for finality of the factory deployment: [1-5] blocks? left$/gm)).toHaveLength(1)
    const secondResult = await shown('setup', 'polygon', '--yes')
    const [, gas = ''] = /^DEPLOYMENT COST +0\.\d+ POL for ([\d,]+) gas$/m.exec(secondResult.stdout) ?? []
    expect(Number(gas.replaceAll(',', ''))).toBeGreaterThan(1_000_000)
    expect(secondResult.stdout).not.toMatch(/^GAS|^COST|^APPOINTMENT/m)

    const { admin, operator } = await accounts()
    const key = generatePrivateKey()
    await fund(real, privateKeyToAccount(key).address)
    await writeKeystore(join(dataDir, 'operator.json'), key)
    await writePassword(join(dataDir, 'password'))
    const keystore = { keystore: 'operator.json', password_file: 'password' }
    await configure([inService(operator), keystore], { admin: inService(admin) })
    const more = await shown('setup', 'polygon', '--yes')
    expect(more.stdout).toMatch(/^APPOINTMENT COST +at most 0\.\d+ POL for 80,000 gas$/m)
  })

  test('says how to resume after Ctrl-C', async () => {
    await configureBoth()
    await stopMining()
    const stop = new AbortController()
    const running = cli(['chain', 'setup', 'polygon', '--data-dir', dataDir, '--json', '--yes'], {
      signal: stop.signal,
    })
    await until(real.pool, (pool) => pool.length > 0)
    stop.abort(new GdnError('interrupted', 'interrupted'))
    expect(errorOf(await running)).toMatchObject({
      code: 'interrupted',
      hint: 'Run the same command again to resume the setup.',
    })
  })

  test('shows balances with their unit, and the problem of a signer in full', async () => {
    const { operator } = await configureBoth()
    expect((await setup('--yes')).code).toBe(0)
    await real.call('anvil_setBalance', [operator, '0x0'])
    const { stdout, stderr } = await shown('status', 'polygon')
    expect(stdout).toMatch(/^BALANCE +0 POL$/m)
    expect(stderr).toMatch(/^the signer 0x\w+ has 0 POL on polygon and needs [\d.]+: send [\d.]+ POL$/m)
  })
})

describe('a typo in a path', () => {
  test('a typo in a path of the data directory is reported before a password is asked for', async () => {
    const { message } = errorOf(
      await cli(['chain', 'setup', 'polygon', '--data-dir', `${dataDir}x`, '--admin-keystore', 'admin.json', '--json']),
    )
    expect(message).toBe(`--data-dir: ${dataDir}x does not exist`)
  })

  test('a typo in a path of the keystore is reported before a password is asked for', async () => {
    await configure([{ remote_signer: service.url, address: `0x${'1'.repeat(40)}` }])
    const { message } = errorOf(await setup('--admin-keystore', join(dataDir, 'admn.json')))
    expect(message).toMatch(/admn\.json: doesn't exist$/)
  })
})
