/** @module-tag slow */
import { beforeAll, describe, expect, test } from 'vitest'
import { backendForFile, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** Below every base fee of the embedded chain. */
const TOO_LOW = '0.000000001'

async function drop() {
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${WALLETS[1]}\n` })
  const { address } = await createTestCollection(backend)
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const target = ['-c', address, '-b', 'polygon', '--yes']
  const mint = (...flags: string[]) =>
    cli(['batch', 'mint', path('drop.csv'), ...target, ...flags], { ...options, env })
  return { mint, run: (...argv: string[]) => cli(argv, { ...options, env }) }
}

describe('batch mint --max-fee-gwei', () => {
  test('waits for cheaper blocks and says so, and the same command with another value changes the limit', async () => {
    const { mint, run } = await drop()
    const reason =
      /waiting for lower fees: the next blocks need up to [0-9.]+ gwei, but the run offers at most 0\.000000001 gwei; repeat the run's command with --max-fee-gwei [0-9.]+ or more to raise the limit/
    const waiting = await mint('--max-fee-gwei', TOO_LOW, '--timeout', '10s', '-o', 'ndjson')
    expect(waiting.code).toBe(8)
    expect(errorOf(waiting)).toMatchObject({
      code: 'pending',
      message: expect.stringMatching(
        new RegExp(`^(the --timeout of 10 s expired\n)?1 row is accepted, but not deployed yet: ${reason.source}$`),
      ),
    })
    const events = waiting.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.filter(({ event }) => event === 'waiting').at(-1)).toMatchObject({
      reason: expect.stringMatching(reason),
    })
    const status = await run('batch', 'status', 'drop', '--costs', '--json')
    expect(JSON.parse(status.stdout)).toMatchObject({
      ...{ accepted: 1, max_fee_wei: '1', waiting: expect.stringMatching(reason) },
    })
    // The limit belongs to the run.
    const secondResult = await mint('--timeout', '10s', '--json')
    expect(errorOf(secondResult).message).toMatch(reason)
    const [, enough = ''] =
      /Run `gdn batch resume \S+ --max-fee-gwei ([0-9.]+)` to raise the limit/.exec(errorOf(secondResult).hint ?? '') ??
      []
    const { code, stdout } = await mint('--max-fee-gwei', enough, '--json')
    expect([code, JSON.parse(stdout).deployed]).toEqual([0, 1])
  })

  test.each(['', '0', '-1', '1e3', 'cheap', '0.0000000001', '1000001'])('rejects "%s"', async (gwei) => {
    const { path, options } = await folder()
    const result = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--max-fee-gwei', gwei, '--json'], options)
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      ...{
        code: 'usage',
        message: expect.stringMatching(/^--max-fee-gwei: must be a fee in gwei, such as 30 or 0\.05/),
      },
    })
  })

  test('is refused on Solana', async () => {
    const { path, options } = await folder({ 'drop.csv': 'title,description\nDawn,x\n' })
    const address = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
    const argv = ['batch', 'mint', path('drop.csv'), '-c', address, '-b', 'solana', '--receiver', address, '--yes']
    const result = await cli([...argv, '--max-fee-gwei', '30', '--json'], { ...options, env })
    expect(errorOf(result)).toMatchObject({
      ...{ code: 'usage', message: "--max-fee-gwei: fees on solana can't be limited" },
    })
  })

  test('says so where the server does not enforce it', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const api = await fakeApi({ ...service(), getisgdnnft: () => ({ body: {} }) })
    const flags = ['--base-url', api.url, '--yes', '--rate', '1000', '--max-fee-gwei', '30']
    const { code, stderr } = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...flags], options)
    expect(code).toBe(0)
    expect(stderr).toContain("doesn't enforce --max-fee-gwei. It pays the network's current fees.")
  })
})
