/** @module-tag slow */
import { symlink } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type LockHolder, thisProcess } from '../../src/core/lock-holder.ts'
import { openState } from '../../src/state/open-state.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { CSV, folder, service, TARGET } from './drop.ts'
import { CONTRACT, fakeApi, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

const OTHER_CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const ELSEWHERE = 'https://api.example.invalid'

/** A home whose runs come from minting against the server of the test. */
async function home(files: Record<string, string> = { 'drop.csv': CSV }) {
  const { path, options } = await folder(files)
  const stateDir = path('state')
  const at = [...TARGET, '--state-dir', stateDir, '--json']
  const gdn = async (...argv: string[]) => await cli(argv, options)
  const mint = async (url: string, name = 'drop.csv', ...more: string[]) =>
    gdn('batch', 'mint', path(name), ...at, '--base-url', url, ...more)
  const list = async (...more: string[]) =>
    JSON.parse((await gdn('batch', 'list', '--state-dir', stateDir, '--json', ...more)).stdout)
  /** Marks a drop as held by this process, or one that differs from it. */
  const hold = async (generation: number, other: Partial<LockHolder> = {}) => {
    const state = await openState(stateDir)
    const holder = JSON.stringify({ ...(await thisProcess('a batch')), ...other })
    await state.write((sql) =>
      sql.run(
        'UPDATE runs SET holder = ? WHERE id = (SELECT run_id FROM drops WHERE generation = ?)',
        holder,
        generation,
      ),
    )
    state.close()
  }
  return { path, options, stateDir, gdn, mint, list, hold }
}

/** A server that accepts this many requests, and returns 500 after that. */
async function takes(requests: number) {
  const { createnft, getnfts } = service()
  let left = requests
  const api = await fakeApi({
    createnft: (body) => (left-- > 0 ? createnft(body) : { status: 500, body: {} }),
    getnfts,
  })
  return api
}

describe('a manifest without a collection', () => {
  const runIn = async () => {
    const { path, gdn, mint, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const at = [path('drop.csv'), '--state-dir', stateDir, '--base-url', api.url]
    return { again: async (...more: string[]) => await gdn('batch', 'mint', ...at, ...more) }
  }

  test('is minted into that of its run on this machine', async () => {
    const { again } = await runIn()
    const { code, stderr } = await again()
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('Nothing is left to do')
    expect((await again('-b', 'astar')).stderr).toContain('no collection is named')
    expect((await again('--run', 'other')).stderr).toContain('no collection is named')
  })

  test('needs one where its runs have several', async () => {
    const { again } = await runIn()
    await again('-c', OTHER_CONTRACT, '-b', 'polygon', '--no-wait')
    expect(await again()).toMatchObject({ code: 2, stderr: expect.stringContaining('no collection is named') })
  })
})

describe('batch list', () => {
  test('lists the runs newest first, with their state', async () => {
    const { mint, list } = await home({ 'a.csv': CSV, 'b.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'a.csv')
    await mint(api.url, 'b.csv', '--no-wait', '--again')
    expect(await list()).toMatchObject([
      { run: expect.stringMatching(/^b-/), state: 'unfinished', accepted: 2, drop: 1 },
      { run: expect.stringMatching(/^a-/), state: 'finished', deployed: 2, contract_address: CONTRACT },
    ])
  })

  test('omits runs of other servers if a flag selects a server', async () => {
    const { mint, list } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    expect(await list('--base-url', api.url)).toHaveLength(1)
    expect(await list('--local')).toEqual([])
    expect(await list('--base-url', ELSEWHERE)).toEqual([])
  })

  test('shows the age of a run on a terminal, and its exact start time in a pipe', async () => {
    const { mint, options, stateDir, gdn } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const { stdout } = await cli(['batch', 'list', '--state-dir', stateDir], { ...options, tty: true })
    expect(stdout).toMatch(/^RUN +STATE +ROWS +AGE\ndrop-[0-9a-f]{4} +finished +2 rows: 2 deployed +now\n$/)
    expect((await gdn('batch', 'list', '--state-dir', stateDir)).stdout).toMatch(/\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/)
    const status = await cli(['batch', 'status', 'drop', '--state-dir', stateDir], { ...options, tty: true })
    expect(status.stdout).toMatch(/^STARTED AT {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$/m)
  })

  test('shows only the held drop of a run as running', async () => {
    const { mint, list, hold } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    await mint(api.url, 'drop.csv', '--again', '--no-wait')
    await hold(2)
    expect(await list()).toMatchObject([
      { drop: 2, state: 'running', running: true },
      { drop: 1, state: 'finished', running: false },
    ])
  })
})

test('commands that only read work in a read-only state directory', async (context) => {
  const disk = await createSmallDisk(4096)
  if (typeof disk === 'string') return context.skip(disk)
  onTestFinished(() => disk.remove())
  const { path, options } = await folder({ 'drop.csv': CSV })
  const api = await fakeApi(service())
  const gdn = async (...argv: string[]) => await cli([...argv, '--state-dir', disk.path], options)
  const target = [...TARGET, '--base-url', api.url]
  await gdn('nft', 'mint', ...target, '--receiver', OWNER, '--title', 'Dawn', '--no-wait')
  await gdn('batch', 'mint', path('drop.csv'), ...target)
  await disk.makeReadOnly()
  const manifest = path('drop.csv')
  expect(JSON.parse((await gdn('batch', 'list', '--all', '--json')).stdout)).toHaveLength(2)
  for (const argv of [
    ['batch', 'status', 'drop'],
    ['batch', 'results', 'drop'],
    ['batch', 'results', 'drop', '-o', 'csv'],
    ['batch', 'preview', manifest, '-b', 'polygon'],
    ['batch', 'mint', manifest, '--dry-run', ...target],
  ]) {
    const { code, stderr } = await gdn(...argv)
    expect({ argv, code, stderr }).toMatchObject({ code: 0 })
  }
})

describe('finding a run', () => {
  test('accepts its ID, a prefix of its ID, its name or its manifest, also behind a link', async () => {
    const { mint, gdn, stateDir, path } = await home()
    const api = await fakeApi(service())
    const { run, run_id } = JSON.parse((await mint(api.url)).stdout)
    await symlink(path('.'), path('link'))
    const manifests = ['drop', 'drop.csv', path('drop.csv'), path('link/drop.csv')]
    for (const name of [run, run_id, run_id.slice(0, 6), ...manifests]) {
      expect((await gdn('batch', 'status', name, '--state-dir', stateDir)).code, name).toBe(0)
    }
  })

  test('lists each match with ID, collection and server if a name matches several runs', async () => {
    const { mint, gdn, stateDir, options, path } = await home()
    const api = await fakeApi(service())
    const first = JSON.parse((await mint(api.url)).stdout)
    const argv = ['-c', OWNER, '-b', 'polygon', '--state-dir', stateDir, '--base-url', api.url, '--json']
    const second = JSON.parse((await cli(['batch', 'mint', path('drop.csv'), ...argv], options)).stdout)
    const { code, stderr } = await gdn('batch', 'status', 'drop', '--state-dir', stateDir)
    expect(code).toBe(2)
    for (const told of ['matches several runs', first.run_id, second.run_id, CONTRACT, OWNER]) {
      expect(stderr).toContain(told)
    }
    // Both have one manifest and one server.
    expect(stderr).toMatch(/Use the ID of one, such as [0-9a-f-]+\.\n/)
    expect((await gdn('batch', 'status', first.run_id, '--state-dir', stateDir)).code).toBe(0)
  })

  test('prefers the path of a manifest to the file name that several have', async () => {
    const { mint, options, stateDir, path } = await home({ 'jan/drop.csv': CSV, 'feb/drop.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'jan/drop.csv')
    const feb = JSON.parse((await mint(api.url, 'feb/drop.csv', '--again')).stdout)
    const status = async (cwd: string) =>
      await cli(['batch', 'status', 'drop.csv', '--state-dir', stateDir, '--json'], { ...options, cwd })
    expect(JSON.parse((await status(path('feb'))).stdout)).toMatchObject({ run_id: feb.run_id })
    expect(errorOf(await status(path('.'))).message).toContain('matches several runs')
  })

  test.each(['GDN_BASE_URL', 'a profile'])('of several matches, selects that of the server of %s', async (how) => {
    const { mint, gdn, stateDir, options, path } = await home()
    const api = await fakeApi(service())
    const other = await fakeApi({ createnft: () => ({ status: 400, body: {} }) })
    const first = JSON.parse((await mint(api.url)).stdout)
    await mint(other.url)
    const isProfile = how === 'a profile'
    if (isProfile) await gdn('config', 'set', 'base_url', api.url, '--profile', 'studio')
    const env = { ...options.env, ...(isProfile ? { GDN_PROFILE: 'studio' } : { GDN_BASE_URL: api.url }) }
    for (const command of ['status', 'results', 'report']) {
      const argv = ['batch', command, path('drop.csv'), '--state-dir', stateDir]
      const { stderr } = await cli(argv, options)
      expect(stderr, command).toContain('matches several runs')
      expect(stderr, command).toContain('To select its server, add --local or --base-url <url>.')
      expect((await cli(argv, { ...options, env })).code, command).toBe(0)
    }
    const { stdout } = await cli(['batch', 'status', 'drop', '--state-dir', stateDir, '--json'], { ...options, env })
    expect(JSON.parse(stdout)).toMatchObject({ run_id: first.run_id })
  })

  test('selects the newest of several drops of one run', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const again = JSON.parse((await mint(api.url, 'drop.csv', '--again')).stdout)
    const { stdout } = await gdn('batch', 'status', 'drop', '--state-dir', stateDir, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ run_id: again.run_id, drop: 2 })
  })
})

describe('batch rm', () => {
  test('removes all data of a finished run after confirmation, and explains the consequence', async () => {
    const { mint, gdn, stateDir, list } = await home()
    const api = await fakeApi(service())
    const { run, run_id } = JSON.parse((await mint(api.url)).stdout)
    await list()
    const unasked = await gdn('batch', 'rm', run, '--state-dir', stateDir, '--json')
    expect({ code: unasked.code, error: errorOf(unasked).code }).toEqual({ code: 3, error: 'not_confirmed' })
    expect(await list()).toHaveLength(1)
    const { code, stdout, stderr } = await gdn('batch', 'rm', run, '--state-dir', stateDir, '--yes')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${run}\t${run_id}\n` })
    expect(stderr).toContain('Only a server with reference IDs keeps its manifest from being minted again.')
    expect(await list()).toEqual([])
  })

  test('requires --yes for a run with unsent rows or rows of unknown outcome, and says what is lost', {
    tags: ['promise'],
  }, async () => {
    const { mint, gdn, stateDir, list } = await home()
    const api = await takes(1)
    await mint(api.url, 'drop.csv', '--chunk-size', '1', '--timeout', '10s')
    const refused = await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--json')
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(/1 unknown.*record of 1 row of unknown outcome/),
      hint: expect.stringContaining('--yes'),
    })
    expect(await list()).toHaveLength(1)
    expect((await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--yes')).code).toBe(0)
    expect(await list()).toEqual([])
  })

  test.each([
    ['a process', {}],
    ['a process in another container', { space: 'pid:[1]', pid: 2 ** 22 + 1 }],
  ])('rejects a run that %s is working on, even with --yes', async (_who, other) => {
    const { mint, gdn, stateDir, hold, list } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    await hold(1, other)
    const result = await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--yes', '--json')
    expect(errorOf(result).code).toBe('run_busy')
    expect(await list()).toHaveLength(1)
  })

  test('rejects an earlier drop while a later one exists', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url)).stdout)
    const { run: later } = JSON.parse((await mint(api.url, 'drop.csv', '--again')).stdout)
    const refused = await gdn('batch', 'rm', run_id, '--state-dir', stateDir, '--yes', '--json')
    expect(errorOf(refused)).toMatchObject({ code: 'run_busy', hint: expect.stringContaining(later) })
    expect((await gdn('batch', 'rm', later, '--state-dir', stateDir, '--yes')).code).toBe(0)
    expect((await gdn('batch', 'rm', run_id, '--state-dir', stateDir, '--yes')).code).toBe(0)
  })

  test('removes all finished runs with --finished, each drop of a run included, and keeps the rest', async () => {
    const { mint, gdn, stateDir, list } = await home({ 'a.csv': CSV, 'b.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'a.csv')
    await mint(api.url, 'a.csv', '--again')
    await mint(api.url, 'b.csv', '--no-wait', '--again')
    expect((await gdn('batch', 'rm', '--finished', '--state-dir', stateDir)).code).toBe(3)
    const { stdout } = await gdn('batch', 'rm', '--finished', '--yes', '--state-dir', stateDir, '--json')
    expect(JSON.parse(stdout)).toHaveLength(2)
    expect(await list()).toMatchObject([{ run: expect.stringMatching(/^b-/) }])
  })

  test.each([
    [[], 'no run is specified'],
    [['drop', '--finished'], "a run and --finished can't be combined"],
  ])('requires either a run or --finished: %j', async (argv, message) => {
    const { gdn, mint, list, stateDir } = await home()
    await mint((await fakeApi(service())).url)
    expect(await gdn('batch', 'rm', ...argv, '--state-dir', stateDir, '--yes')).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining(message) },
    })
    expect(await list()).toHaveLength(1)
  })
})
