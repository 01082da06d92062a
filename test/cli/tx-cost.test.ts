import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/server/store/open-store.ts'
import { rpcStandIn } from '../helpers/rpc-stand-in.ts'
import { SCENARIOS } from './contract/scenarios.ts'
import { type CliOptions, cli, errorOf } from './harness.ts'

const GWEI = 10n ** 9n
const hex = (value: bigint) => `0x${value.toString(16)}`

interface Place {
  argv: readonly string[]
  options: CliOptions
  requested(): Promise<string | null>
}

/** A command without `--yes` for a pending transaction: 100,000 gas at 30 gwei, 0.003 POL. */
async function place(command: 'tx bump' | 'tx cancel', more: object = {}): Promise<Place> {
  const prepared = await SCENARIOS[command]?.prepare()
  if (prepared === undefined) throw new Error('no scenario')
  const dataDir = prepared.argv.at(-1) ?? ''
  const url = await rpcStandIn({
    eth_chainId: '0x89',
    eth_getBlockByNumber: { baseFeePerGas: hex(20n * GWEI) },
    eth_maxPriorityFeePerGas: hex(GWEI),
    eth_call: '0x',
  })
  const operators = [{ keystore: 'operator.json', password_file: 'password' }]
  const chains = { polygon: { rpc_urls: [url], max_fee_gwei: 500, operators, ...more } }
  await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify({ chains }), { mode: 0o600 })
  return {
    argv: prepared.argv.filter((word) => word !== '--yes'),
    options: prepared.options,
    async requested() {
      const store = await openStore(join(dataDir, 'gdn.db'))
      try {
        const row = await store.db.selectFrom('transactions').select('requested_action').executeTakeFirstOrThrow()
        return row.requested_action
      } finally {
        await store.close()
      }
    },
  }
}

test.each([
  // At 41 gwei, twice the base fee and the tip, and at the 500 gwei of max_fee_gwei.
  [
    'tx bump',
    'Raise the fees of this transaction on polygon (now at most 0.003 POL), for at most 0.05 POL (max_fee_gwei; 0.0041 POL at the current fees)?',
  ],
  // The canceled transaction may be mined instead.
  [
    'tx cancel',
    'Cancel it, so that a transfer fails on polygon, for at most 0.0105 POL (max_fee_gwei; 0.003 POL at the current fees)?',
  ],
] as const)(
  'gdn %s prompts with the most that it can cost, and needs --yes off a terminal',
  async (command, question) => {
    const { argv, options, requested } = await place(command)
    const refused = await cli([...argv, '--json'], options)
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({ code: 'not_confirmed', message: `confirmation required: ${question}` })
    expect(await requested()).toBeNull()
    const done = await cli([...argv, '--yes', '--json'], options)
    expect(done.code, done.stderr).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({
      max_cost_before_wei: '3000000000000000',
      max_cost_after_wei: command === 'tx bump' ? '50000000000000000' : '10500000000000000',
      currency: 'POL',
    })
    expect(await requested()).toBe(command.slice(3))
  },
)

test('gdn tx bump shows the maximum cost before and after on a terminal', async () => {
  const { argv, options } = await place('tx bump')
  const { stdout } = await cli([...argv, '--yes'], { ...options, tty: true, stderrTty: true })
  expect(stdout).toMatch(/^MAX COST +0\.003 POL now, and at most 0\.05 after this$/m)
})

test('gdn tx bump does not prompt on a test network', async () => {
  const { argv, options, requested } = await place('tx bump', { test_network: true })
  const { code, stderr } = await cli([...argv, '--json'], options)
  expect(code, stderr).toBe(0)
  expect(await requested()).toBe('bump')
})
