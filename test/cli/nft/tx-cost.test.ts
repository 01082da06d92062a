import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import { GWEI } from '../../helpers/gwei.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { SCENARIOS } from '../contract/scenarios.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const hex = (value: bigint) => `0x${value.toString(16)}`

interface PreparedCommand {
  argv: readonly string[]
  options: CliOptions
  requested(): Promise<string | null>
  /** Changes the transaction in the database. */
  set(changes: { state?: 'final'; mined?: string; watched?: number; raw?: '' }): Promise<void>
  /** Adds an attempt of the transaction. */
  sign(attempt: { number: number; hash: string; cancels: number }): Promise<void>
}

/** A command without `--yes` for a pending transaction: 100,000 gas at 30 gwei, 0.003 POL. */
async function place(command: 'tx bump' | 'tx cancel' | 'tx show', more: object = {}): Promise<PreparedCommand> {
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
  const onStore = async <Value>(act: (store: Store) => Promise<Value>): Promise<Value> => {
    const store = await openStore(join(dataDir, 'gdn.db'))
    try {
      return await act(store)
    } finally {
      await store.close()
    }
  }
  return {
    argv: prepared.argv.filter((word) => word !== '--yes'),
    options: prepared.options,
    requested: () =>
      onStore(async ({ db }) => {
        const row = await db.selectFrom('transactions').select('requested_action').executeTakeFirstOrThrow()
        return row.requested_action
      }),
    sign: ({ number, hash, cancels }) =>
      onStore(async ({ db }) => {
        const { id, raw } = await db.selectFrom('transactions').select(['id', 'raw']).executeTakeFirstOrThrow()
        const fees = { max_fee_per_gas: String(30n * GWEI), max_priority_fee_per_gas: '0' }
        const attempt = { transaction_id: id, number, raw, hash, ...fees, created_at: 0, cancels }
        await db.insertInto('transaction_attempts').values(attempt).execute()
      }),
    set: (changes) =>
      onStore(async ({ db }) => {
        for (const [column, value] of Object.entries(changes)) {
          await sql`update transactions set ${sql.ref(column)} = ${value}`.execute(db)
        }
      }),
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
    'Cancel this transaction on polygon, for at most 0.0105 POL (max_fee_gwei; 0.003 POL at the current fees)? If it is canceled, the transfer fails.',
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

test.each([
  [
    'tx bump',
    'Raise the fees of the cancellation of this transaction on polygon (now at most 0.003 POL), for at most ',
  ],
  [
    'tx cancel',
    'This transaction is already being canceled. Cancel it again with higher fees on polygon, for at most ',
  ],
] as const)('gdn %s says that the transaction is already being canceled', async (command, question) => {
  const { argv, options, sign } = await place(command)
  await sign({ number: 1, hash: '0x01', cancels: 1 })
  const refused = await cli([...argv, '--json'], options)
  expect(errorOf(refused).message).toContain(`confirmation required: ${question}`)
})

test('gdn tx cancel says that a cancellation is already requested', async () => {
  const { argv, options } = await place('tx cancel')
  const first = await cli([...argv, '--yes'], options)
  expect(first.code, first.stderr).toBe(0)
  expect(errorOf(await cli([...argv, '--json'], options)).message).toContain('already being canceled')
})

test('gdn tx bump raises the fees of a cancellation that is requested but not signed', async () => {
  const { argv, options, requested } = await place('tx bump')
  const cancel = argv.map((word) => (word === 'bump' ? 'cancel' : word))
  const first = await cli([...cancel, '--yes', '--json'], options)
  expect(first.code, first.stderr).toBe(0)
  expect(errorOf(await cli([...argv, '--json'], options)).message).toContain(
    'Raise the fees of the cancellation of this transaction on polygon (now at most 0.003 POL), for at most 0.0105 POL ',
  )
  const { stderr } = await cli([...argv, '--yes'], options)
  expect(stderr).toContain('The backend raises the fees of the cancellation of this transaction at the next check.')
  const { max_cost_after_wei } = JSON.parse(first.stdout)
  const secondResult = await cli([...argv, '--yes', '--json'], options)
  expect(JSON.parse(secondResult.stdout)).toMatchObject({ requested_action: 'cancel', max_cost_after_wei })
  expect(await requested()).toBe('cancel')
})

test('gdn tx bump shows the maximum cost before and after on a terminal', async () => {
  const { argv, options } = await place('tx bump')
  const { stdout } = await cli([...argv, '--yes'], { ...options, tty: true, stderrTty: true })
  expect(stdout).toMatch(/^MAX COST +0\.003 POL now, and at most 0\.05 after the replacement$/m)
})

test('gdn tx bump does not prompt on a test network', async () => {
  const { argv, options, requested } = await place('tx bump', { test_network: true })
  const { code, stderr } = await cli([...argv, '--json'], options)
  expect(code, stderr).toBe(0)
  expect(await requested()).toBe('bump')
})

test.each(['tx bump', 'tx cancel'] as const)(
  'gdn %s names the command that shows a final transaction',
  async (command) => {
    const { argv, options, set } = await place(command)
    await set({ state: 'final' })
    const refused = await cli([...argv, '--json'], options)
    expect(errorOf(refused)).toMatchObject({
      code: 'usage',
      hint: expect.stringMatching(/^Run `gdn tx show \S+ --data-dir \S+` to see the outcome\.$/),
    })
  },
)

test.each(['tx bump', 'tx cancel'] as const)('gdn %s refuses a mined transaction without a prompt', async (command) => {
  const { argv, options, requested, set } = await place(command)
  await set({ mined: 'success' })
  for (const more of [[], ['--yes']]) {
    const refused = await cli([...argv, ...more, '--json'], options)
    expect(refused.code).toBe(2)
    expect(errorOf(refused)).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/^the transaction \S+ is already mined: it can't be replaced$/),
      hint: expect.stringMatching(/^Run `gdn tx show \S+ --data-dir \S+` to see when the transaction is final\.$/),
    })
  }
  expect(await requested()).toBeNull()
})

test('gdn tx list shows a transaction as final only when no reorg can remove it', async () => {
  const { argv, options, set } = await place('tx bump')
  const dataDir = ['--data-dir', argv.at(-1) ?? '', '--json']
  const states = async (...flags: string[]) => {
    const { code, stdout, stderr } = await cli(['tx', 'list', ...flags, ...dataDir], options)
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout).map(({ state }: { state: string }) => state)
  }
  const all = ['signed', 'mined', 'confirmed', 'final']
  const seen = async () => [await states(), await Promise.all(all.map((state) => states('--state', state)))]
  const only = (state: string) => [[state], all.map((one) => (one === state ? [state] : []))]
  expect(await seen()).toEqual(only('signed'))
  await set({ mined: 'success' })
  expect(await seen()).toEqual(only('mined'))
  await set({ state: 'final', watched: 1 })
  expect(await seen()).toEqual(only('confirmed'))
  await set({ watched: 0 })
  expect(await seen()).toEqual(only('final'))
})

test('gdn tx show lists attempts in words on a terminal, and as JSON for programs', async () => {
  const { argv, options, sign, set } = await place('tx show')
  const attempts = async () => JSON.parse((await cli([...argv, '--json'], options)).stdout).attempts
  expect(await attempts()).toMatchObject([{ hash: expect.stringMatching(/^0x/), max_fee_gwei: '30', cancels: false }])
  await set({ raw: '' })
  expect(await attempts()).toEqual([])
  await sign({ number: 1, hash: '0x01', cancels: 0 })
  await sign({ number: 2, hash: '0x02', cancels: 1 })
  const { stdout } = await cli(argv, { ...options, tty: true, stderrTty: true })
  expect(stdout).toMatch(/^ATTEMPTS +0x01 at 30 gwei\n +0x02 at 30 gwei, cancels the transaction$/m)
  expect(await attempts()).toMatchObject([
    { hash: '0x01', max_fee_gwei: '30', cancels: false },
    { hash: '0x02', max_fee_gwei: '30', cancels: true },
  ])
})

test('gdn tx cancel and gdn tx show say why the backend waits with a replacement', async () => {
  // An eighth above 30 gwei is the least that replaces the transaction.
  const { argv, options } = await place('tx cancel', { max_fee_gwei: 33 })
  const waits =
    'the replacement needs up to 0.0007088 POL at the current fees, but max_fee_gwei allows only 0.000693 POL'
  const { code, stderr } = await cli([...argv, '--yes'], options)
  expect(code, stderr).toBe(0)
  expect(stderr).toContain(`The backend can't sign the replacement yet: ${waits}.`)
  expect(stderr).toContain(
    'The backend replaces this transaction when fees fall, or the limit is raised. To see the result, run',
  )
  const show = argv.map((word) => (word === 'cancel' ? 'show' : word))
  const showResult = await cli([...show, '--json'], options)
  expect(JSON.parse(showResult.stdout)).toMatchObject({ pending_reason: `waiting for lower fees: ${waits}` })
})
