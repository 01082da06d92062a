/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { SYSTEM_CLOCK } from '../../../src/core/time.ts'
import { timeUpError } from '../../../src/core/time-up.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { folder } from '../batch/drop.ts'
import { cli } from '../harness.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const [OWNER = '', OTHER = ''] = WALLETS
const CREATE = ['collection', 'create', '--name', 'Paid', '-b', 'polygon', '--wallet', OWNER, '--no-enable-transfer']
const PAID = /^paid +0\.\d+ POL, for [\d,]+ gas \(simulated\)$/im

async function commands() {
  const { options } = await folder()
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  return {
    run: (...argv: string[]) => cli(argv, { ...options, env, tty: true }),
    async json(...argv: string[]) {
      const { code, stdout, stderr } = await cli([...argv, '--json'], { ...options, env })
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout)
    },
  }
}

/** An NFT that the service may change, of OWNER. */
async function nft(): Promise<string> {
  const rights = { enable_transfer: true, enable_burn: true, dynamic: true }
  const collection = await createTestCollection(backend, rights)
  const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: OWNER })
  expect(await settled(backend, [id])).toMatchObject([{ status: 'deployed' }])
  return id
}

test.each<[string, () => Promise<string[]>]>([
  ['collection create', async () => CREATE],
  ['nft transfer', async () => ['nft', 'transfer', await nft(), '--receiver', OTHER, '-b', 'polygon']],
  ['nft update', async () => ['nft', 'update', await nft(), '--title', 'Paid', '-b', 'polygon']],
  ['nft freeze', async () => ['nft', 'freeze', await nft(), '-b', 'polygon', '--yes']],
  ['nft burn', async () => ['nft', 'burn', await nft(), '-b', 'polygon', '--yes']],
])('gdn %s shows what it has paid', async (_name, argv) => {
  const { run, json } = await commands()
  const data = await json(...(await argv()))
  const record = Array.isArray(data) ? data[0] : data
  expect(record).toMatchObject({ currency: 'POL', simulated: true, gas_used: expect.stringMatching(/^\d+$/) })
  expect(BigInt(record.fee_paid_wei)).toBeGreaterThan(BigInt(record.gas_used))
  const { code, stdout, stderr } = await run(...(await argv()), '--again')
  expect(code, stderr).toBe(0)
  // These print a table, which has no room for it.
  if (Array.isArray(data)) expect(stderr).toMatch(/^Paid: 0\.\d+ POL, for [\d,]+ gas \(simulated\)$/m)
  else expect(stdout).toMatch(PAID)
})

test('batch mint and apply show what they have paid, and not what was paid before', async () => {
  const { address } = await createTestCollection(backend, { dynamic: true })
  const csv = (title: string) => `id,title,description,receiver\na,${title},x,${OWNER}\n`
  const { path, options } = await folder({ 'drop.csv': csv('Dawn') })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const argv = (...command: string[]) => [...command, path('drop.csv'), '-c', address, '-b', 'polygon', '--yes']
  const shown = async (...command: string[]) => (await cli(argv(...command), { ...options, env, tty: true })).stdout
  expect(await shown('batch', 'mint')).toMatch(PAID)
  expect(await shown('apply')).not.toMatch(/paid/i)
  await writeFile(path('drop.csv'), csv('Dusk'))
  const { stdout } = await cli([...argv('apply'), '--json'], { ...options, env })
  const { gas_used, fee_paid_wei, run } = JSON.parse(stdout)
  expect(JSON.parse(stdout)).toMatchObject({ updated: 1, currency: 'POL', simulated: true })
  const { costs } = await call(backend, 'getruncosts', { run: await idOf(run) })
  expect(BigInt(fee_paid_wei)).toBeLessThan(BigInt(costs.fee_paid))
  expect(BigInt(gas_used)).toBeLessThan(BigInt(costs.gas_used))
  await writeFile(path('drop.csv'), csv('Night'))
  expect(await shown('apply')).toMatch(/^paid +0\.\d+ POL by this command, for [\d,]+ gas \(simulated\)$/im)

  async function idOf(name: string): Promise<string> {
    const { stdout: status } = await cli(['batch', 'status', name, '--json'], { ...options, env })
    return JSON.parse(status).run_id
  }
})

describe('a command whose --timeout is over', () => {
  const csv = (title: string) => `id,title,description,receiver\na,${title},x,${OWNER}\n`

  /** A machine with a drop. Between two looks at the server, the run pays, and then the time is over. */
  async function machine() {
    const { address } = await createTestCollection(backend, { dynamic: true })
    const { path, options } = await folder({
      'drop.csv': csv('Dawn'),
      'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait' }),
    })
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
    const argv = (...command: string[]) => [...command, path('drop.csv'), '-c', address, '-b', 'polygon', '--yes']
    const run = (...command: string[]) => cli([...argv(...command), '--json'], { ...options, env })
    const paid = (kind: 'mint' | 'update') =>
      withStore(backend.dataDir, async ({ db }) => {
        const all = db.selectFrom('transactions').select('id').where('kind', '=', kind)
        return (await all.where('fee_paid', 'is not', null).execute()).length
      })
    const late = async (kind: 'mint' | 'update', ...command: string[]) => {
      const before = await paid(kind)
      const over = new AbortController()
      const sleep = async (_ms: number, signal?: AbortSignal) => {
        await until(
          () => paid(kind),
          (now) => now > before,
        )
        over.abort(timeUpError(300_000))
        signal?.throwIfAborted()
      }
      const { code, stdout, stderr } = await cli([...argv(...command), '--json'], {
        ...{ ...options, env, signal: over.signal, clock: { ...SYSTEM_CLOCK, sleep } },
      })
      expect(code, stderr).toBe(8)
      return JSON.parse(stdout)
    }
    return { run, late, edit: (title: string) => writeFile(path('drop.csv'), csv(title)), path }
  }
  const PAID_SO_FAR = { currency: 'POL', fee_paid_wei: expect.stringMatching(/^[1-9]\d+$/) }

  test('shows what it has paid: batch mint, apply and reveal', async () => {
    const mints = await machine()
    expect(await mints.late('mint', 'batch', 'mint')).toMatchObject(PAID_SO_FAR)
    const applies = await machine()
    expect(await applies.run('batch', 'mint')).toMatchObject({ code: 0 })
    await applies.edit('Dusk')
    expect(await applies.late('update', 'apply')).toMatchObject(PAID_SO_FAR)
    const reveals = await machine()
    const minted = await reveals.run('batch', 'mint', '--unrevealed', reveals.path('hidden.json'))
    expect(minted, minted.stderr).toMatchObject({ code: 0 })
    expect(await reveals.late('update', 'reveal')).toMatchObject(PAID_SO_FAR)
  })
})

test('batch status --costs has the cost of a single command with a limit, or the reason why it is unknown', async () => {
  const { run, json } = await commands()
  const limited = await json(...CREATE, '--max-cost', '1')
  const names = async () => (await json('batch', 'list', '--all')).map(({ run: name }: { run: string }) => name)
  const [name = ''] = await names()
  const seen = await json('batch', 'status', name, '--costs')
  expect(seen).toMatchObject({ fee_paid_wei: limited.fee_paid_wei, gas_used: limited.gas_used, currency: 'POL' })
  await json(...CREATE, '--again')
  const other = (await names()).find((one: string) => one !== name)
  const { stdout, stderr } = await run('batch', 'status', other, '--costs')
  expect(stdout).not.toMatch(/^paid/im)
  expect(stderr).toContain('only for commands with --max-cost')
})
