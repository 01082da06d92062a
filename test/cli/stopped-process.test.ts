import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stopInTransaction } from '../helpers/stopped-transaction.ts'
import { CSV, folder, service, TARGET } from './batch/drop.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

const SHOW = ['nft', 'show', 'id-0']
const LIST = ['nft', 'list', ...TARGET]
/** 5 s for each endpoint, plus time for a busy machine. */
const PATIENCE_MS = 60_000

describe('another process stopped inside a transaction', { timeout: PATIENCE_MS }, () => {
  test('a process stopped inside a transaction of the rate limit database blocks only creations, whose errors name its pid', async () => {
    const { path, options } = await folder({})
    const env = { ...options.env, GDN_PACE_DIR: path('pace') }
    const getnftgdnids = () => ({
      body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ['id-0'] },
    })
    const api = await fakeApi({ getnfts: knows(nft('id-0')), getnftgdnids })
    const gdn = (argv: string[]) => cli([...argv, '--base-url', api.url, '--json'], { ...options, env })
    expect((await gdn(LIST)).code).toBe(0)
    const pid = await stopInTransaction(path('pace/pace.db'))
    const [shown, listed, minted] = await Promise.all([
      gdn(SHOW),
      gdn(LIST),
      gdn(['nft', 'mint', ...TARGET, '--receiver', OWNER, '--title', 'Dawn']),
    ])
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('id-0') })
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('id-0') })
    expect(errorOf(minted)).toMatchObject({ code: 'run_busy', message: expect.stringContaining(`pid ${pid}`) })
    expect(api.bodies('createnft')).toEqual([])
  })

  test('a process stopped inside a transaction of the state database blocks only commands that use it, whose errors name its pid', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const stateDir = path('state')
    const api = await fakeApi(service())
    const gdn = (argv: string[]) => cli([...argv, '--state-dir', stateDir, '--json'], options)
    const at = ['--base-url', api.url]
    expect((await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...at])).code).toBe(0)
    const pid = await stopInTransaction(join(stateDir, 'state.db'))
    expect(await gdn([...SHOW, ...at])).toMatchObject({ code: 0 })
    expect(await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])).toMatchObject({ code: 0 })
    const results = await Promise.all(
      [
        ['batch', 'list', '--all'],
        ['batch', 'status', 'drop'],
        ['batch', 'results', 'drop'],
        ['nft', 'mint', ...TARGET, '--receiver', OWNER, '--title', 'Dawn', ...at],
        ['nft', 'mint', ...TARGET, '--receiver', '@bob', '--title', 'Dawn', ...at, '--dry-run'],
      ].map(gdn),
    )
    for (const result of results) {
      expect(errorOf(result)).toMatchObject({ code: 'run_busy', message: expect.stringContaining(`pid ${pid}`) })
    }
  })
})
