/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** The oracle of OP stack networks. */
const ORACLE = '0x420000000000000000000000000000000000000F'
/** Code of a contract that returns this number for every call. */
const returning = (value: bigint) => `0x67${value.toString(16).padStart(16, '0')}5f5260205ff3`

async function start(): Promise<PublicNetwork> {
  const network = await startPublicNetwork([], { chainId: 10 })
  onTestFinished(() => network.close())
  await network.mine(3)
  return network
}

test('estimates a drop on a network without a backend, with its fee for data', async () => {
  const network = await start()
  const home = await temporaryFolder('gdn-cost-')
  await writeFile(join(home, 'drop.csv'), `title,description,receiver\nDawn,x,${OWNER}\nDusk,x,${OWNER}\n`)
  const { run } = gdnAt({ url: '', apiKey: '' }, home)
  const argv = ['cost', join(home, 'drop.csv'), '-b', 'optimism', '--price', '3100', '--json']
  const estimate = async () => {
    const { exitCode, stdout, stderr } = await run(...argv, '--rpc-url', network.url)
    expect(exitCode, stderr).toBe(0)
    return JSON.parse(stdout)
  }
  const plain = await estimate()
  expect(plain).toMatchObject({
    rows: 2,
    deploys_collection: true,
    data_fee_wei: '0',
    currency: 'ETH',
    simulated: false,
  })
  const price = BigInt(plain.gas_price_wei)
  expect(price).toBeGreaterThan(0n)
  expect(BigInt(plain.cost_estimate_wei)).toBe(price * BigInt(plain.gas_estimate))

  await network.call('anvil_setCode', [ORACLE, returning(10n ** 15n)])
  const charged = await estimate()
  expect(BigInt(charged.data_fee_wei)).toBeGreaterThan(0n)
  expect(BigInt(charged.data_fee_wei)).toBeLessThan(10n ** 15n)
  expect(BigInt(charged.cost_estimate_wei)).toBe(price * BigInt(charged.gas_estimate) + BigInt(charged.data_fee_wei))

  const wrong = await run(
    'cost',
    join(home, 'drop.csv'),
    '-b',
    'polygon',
    '--json',
    '--rpc-url',
    `${network.url}/?key=secret-key`,
  )
  expect(wrong.exitCode).toBe(2)
  expect(wrong.stderr).toContain('belongs to chain 10, not 137')
  expect(wrong.stderr).not.toContain('secret-key')
})
