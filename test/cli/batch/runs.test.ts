/** @module-tag slow */
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type LockHolder, thisProcess } from '../../../src/core/lock-holder.ts'
import { openState } from '../../../src/state/open-state.ts'
import { createSmallDisk } from '../../helpers/small-disk.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

const OTHER_CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const NO_CONTRACT = CONTRACT.replace(/..$/, '00')
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
    const finished = JSON.parse((await again('--json')).stdout)
    expect(finished).toMatchObject({ total: 2, deployed: 2, requests: 0 })
    expect((await again('-b', 'astar')).stderr).toContain('no collection is specified')
    expect((await again('--run', 'other')).stderr).toContain('no collection is specified')
  })

  test('needs one where its runs have several', async () => {
    const { again } = await runIn()
    await again('-c', OTHER_CONTRACT, '-b', 'polygon', '--no-wait')
    expect(await again()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the manifest has runs in several collections'),
    })
  })
})

test('batch validate suggests a comparison for a manifest that is minted on the selected server', async () => {
  const { mint, path, gdn, stateDir } = await home()
  const api = await fakeApi(service())
  const validate = async (...more: string[]) =>
    (await gdn('batch', 'validate', path('drop.csv'), ...TARGET, '--state-dir', stateDir, ...more)).stderr
  const minting = 'no errors. To preview the mint: gdn batch mint '
  expect(await validate('--base-url', api.url)).toContain(minting)
  await mint(api.url, 'drop.csv', '--no-wait')
  expect(await validate('--base-url', api.url)).toContain(minting)
  await mint(api.url)
  const after = await validate('--base-url', api.url)
  expect(after).toMatch(
    /no errors\. The run drop-\w{4} has minted this manifest\. To show the differences: gdn plan \S+drop\.csv --contract /,
  )
  expect(await validate('--base-url', ELSEWHERE)).toContain(minting)
})

test('batch validate suggests a complete plan command for a minted manifest, without a server or collection', async () => {
  const { mint, path, gdn, stateDir } = await home()
  const api = await fakeApi(service())
  await mint(api.url)
  const { stderr } = await gdn('batch', 'validate', path('drop.csv'), '-b', 'polygon', '--state-dir', stateDir)
  const [, plan = ''] = /differences: gdn (plan .*)/.exec(stderr) ?? []
  expect(plan).toContain(` --contract ${CONTRACT} --blockchain polygon --base-url ${api.url} --state-dir `)
  expect(stderr).not.toContain('Also select')
  expect((await gdn(...plan.split(' '))).stderr).toContain('2 unchanged')
})

test('batch validate looks for the run in the collection of GDN_CONTRACT, as batch mint does', async () => {
  const { mint, path, stateDir, options } = await home()
  const api = await fakeApi(service())
  await mint(api.url)
  const argv = ['batch', 'validate', path('drop.csv'), '-b', 'polygon', '--base-url', api.url, '--state-dir', stateDir]
  const validate = async (contract: string, ...more: string[]) =>
    await cli([...argv, ...more], { ...options, env: { ...options.env, GDN_CONTRACT: contract } })
  expect((await validate(CONTRACT)).stderr).toContain('has minted this manifest')
  expect((await validate(OTHER_CONTRACT)).stderr).toContain('no errors. To preview the mint: ')
  expect(JSON.parse((await validate(OTHER_CONTRACT, '--json')).stdout).contract_address).toBe(OTHER_CONTRACT)
})

test('batch reconcile says that nothing is left to reconcile', async () => {
  const { mint, path, stateDir, options } = await home()
  const api = await fakeApi(service())
  await mint(api.url)
  const { code, stderr } = await cli(['batch', 'reconcile', path('drop.csv'), '--state-dir', stateDir], options)
  expect(code).toBe(0)
  expect(stderr).toMatch(/^Nothing is left to reconcile: all 2 rows of the run drop-\w+ are deployed\.$/m)
})

test('batch mint of a finished run names a manifest in the working directory by its relative path', async () => {
  const { mint, path, stateDir, options } = await home()
  const api = await fakeApi(service())
  await mint(api.url)
  await writeFile(path('drop.csv'), CSV.replace(/^Dusk.*\n/m, ''))
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--state-dir', stateDir]
  expect((await cli(argv, options)).stderr).toContain('`gdn plan drop.csv --')
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
    expect(stdout).toMatch(
      /^RUN +MANIFEST +STATE +ROWS +AGE\ndrop-[0-9a-f]{4} +\S+\/drop\.csv +finished +2 rows: 2 deployed +now\n$/,
    )
    expect((await gdn('batch', 'list', '--state-dir', stateDir)).stdout).toMatch(/\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/)
    const status = await cli(['batch', 'status', 'drop', '--state-dir', stateDir], { ...options, tty: true })
    expect(status.stdout).toMatch(/^STARTED AT {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$/m)
  })

  test('shows the manifest of a run with its folder, and its collection on a wide terminal', async () => {
    const { mint, options, stateDir, path } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const list = async (columns: number) =>
      (await cli(['batch', 'list', '--state-dir', stateDir], { ...options, tty: true, columns })).stdout
    const file = path('drop.csv').split('/').slice(-2).join('/')
    expect(await list(80)).toContain(` ${file} `)
    expect(await list(80)).not.toContain('CONTRACT')
    expect(await list(120)).toMatch(/^RUN +MANIFEST +CONTRACT +STATE/)
  })

  test('cuts the start of a path, or leaves the path out, before it cuts the counts of a run', async () => {
    const file = 'collection-of-waves-2026.csv'
    const { mint, options, stateDir } = await home({ [file]: CSV })
    const api = await fakeApi(service())
    await mint(api.url, file)
    const list = async (columns: number) =>
      (await cli(['batch', 'list', '--state-dir', stateDir], { ...options, tty: true, columns })).stdout
    expect(await list(90)).toMatch(
      /^RUN +MANIFEST +STATE.*\n\S+ +…\S*waves-2026\.csv +finished +2 rows: 2 deployed +now\n$/,
    )
    expect(await list(72)).toMatch(/^RUN +STATE.*\n\S+ +finished +2 rows: 2 deployed +now\n$/)
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

test('the cost of a run whose server is gone is unknown, for the reason that a warning names', async () => {
  const { mint, gdn, stateDir } = await home()
  const api = await fakeApi(service())
  await mint(api.url)
  const state = await openState(stateDir)
  await state.write((sql) => sql.run("UPDATE drops SET url = 'http://127.0.0.1:9'"))
  state.close()
  const at = ['drop', '--state-dir', stateDir]
  for (const command of [['status', '--costs'], ['results', '--costs'], ['report']]) {
    const { code, stderr } = await gdn('batch', ...command, ...at)
    expect({ command, code }).toEqual({ command, code: 0 })
    expect(stderr, command[0]).toMatch(
      /: the backend of the run \S+ is not running; it was last seen at http:\/\/127\.0\.0\.1:9\./,
    )
  }
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
    for (const text of ['matches several runs', first.run_id, second.run_id, CONTRACT, OWNER]) {
      expect(stderr).toContain(text)
    }
    // Both have one manifest and one server.
    const hint = /Use the ID of a run, such as [0-9a-f-]+\. To select the collection, add --contract <address>\.\n/
    expect(stderr).toMatch(hint)
    expect((await gdn('batch', 'status', first.run_id, '--state-dir', stateDir)).code).toBe(0)
  })

  test.each(['plan', 'apply', 'batch mint'])(
    'lists the collections with a run of the manifest if there are several: %s',
    async (command) => {
      const { mint, stateDir, options, path } = await home()
      const api = await fakeApi(service())
      const first = JSON.parse((await mint(api.url)).stdout)
      const where = [path('drop.csv'), '--state-dir', stateDir, '--base-url', api.url]
      const argv = [...command.split(' '), ...where]
      const other = ['batch', 'mint', ...where, '-c', OTHER_CONTRACT, '-b', 'polygon', '--json']
      const second = JSON.parse((await cli(other, options)).stdout)
      const { code, stderr } = await cli(argv, options)
      expect(code).toBe(2)
      expect(stderr).toContain('the manifest has runs in several collections, and none is specified')
      for (const { contract_address, run } of [first, second]) {
        expect(stderr).toContain(
          `--contract ${contract_address} --blockchain polygon  a collection on polygon, run ${run}\n`,
        )
      }
    },
  )

  test('prefers the path of a manifest to the file name that several have', async () => {
    const { mint, options, stateDir, path } = await home({ 'jan/drop.csv': CSV, 'feb/drop.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'jan/drop.csv')
    const feb = JSON.parse((await mint(api.url, 'feb/drop.csv', '--again')).stdout)
    const run = async (command: string, cwd: string) =>
      await cli([...command.split(' '), 'drop.csv', '--state-dir', stateDir, '--json'], { ...options, cwd })
    for (const command of ['status', 'resume', 'retry', 'reconcile', 'results', 'report']) {
      const { stdout, stderr } = await run(`batch ${command}`, path('feb'))
      expect(stderr, command).not.toContain('matches several runs')
      const [found] = [JSON.parse(stdout)].flat()
      if (command !== 'results') expect([command, found.run_id]).toEqual([command, feb.run_id])
      expect(errorOf(await run(`batch ${command}`, path('.'))).message, command).toContain('matches several runs')
    }
    const opened = async (cwd: string) => errorOf(await run('open --print', cwd)).message
    // The server of the run has no web explorer.
    expect(await opened(path('feb'))).not.toContain('matches several runs')
    expect(await opened(path('.'))).toContain('matches several runs')
  })

  test('does not take the former file name of a renamed manifest for another file of that name', async () => {
    const { mint, options, stateDir, path } = await home({ 'a/q.csv': CSV, 'b/q.csv': CSV, 'n/q.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'a/q.csv')
    await mint(api.url, 'b/q.csv', '--again')
    await rename(path('a/q.csv'), path('a/r.csv'))
    expect((await mint(api.url, 'a/r.csv', '--run', 'q.csv', '--adopt')).code).toBe(0)
    const status = async (cwd: string, name: string) =>
      await cli(['batch', 'status', name, '--state-dir', stateDir, '--json'], { ...options, cwd: path(cwd) })
    expect(errorOf(await status('.', 'q.csv')).message).toContain('matches several runs')
    const other = errorOf(await status('n', 'q.csv'))
    expect(other.message).toContain('there is no run of')
    for (const name of ['a/r.csv', 'b/q.csv']) expect(other.hint).toContain(path(name))
    expect(JSON.parse((await status('a', 'r.csv')).stdout).manifest).toBe(path('a/r.csv'))
    expect(JSON.parse((await status('b', 'q.csv')).stdout).manifest).toBe(path('b/q.csv'))
  })

  test.each(['GDN_BASE_URL', 'a profile'])('of several matches, selects that of the server of %s', async (how) => {
    const { mint, gdn, stateDir, options, path, list } = await home()
    const session = () => ({ body: { version: '0.1.0', open: true, account: null } })
    const api = await fakeApi({ ...service(), '/explorer/session': session })
    const other = await fakeApi({ createnft: () => ({ status: 400, body: {} }) })
    const first = JSON.parse((await mint(api.url)).stdout)
    await mint(other.url)
    const isProfile = how === 'a profile'
    if (isProfile) await gdn('config', 'set', 'base_url', api.url, '--profile', 'studio')
    const env = { ...options.env, ...(isProfile ? { GDN_PROFILE: 'studio' } : { GDN_BASE_URL: api.url }) }
    for (const command of ['status', 'results', 'report', 'retry', 'reconcile', 'resume']) {
      const argv = ['batch', command, path('drop.csv'), '--state-dir', stateDir]
      const { stderr } = await cli(argv, options)
      expect(stderr, command).toContain('matches several runs')
      expect(stderr, command).toContain('To select the server, add --local or --base-url <url>.')
      expect((await cli(argv, { ...options, env })).code, command).toBe(0)
    }
    const at = [path('drop.csv'), '--state-dir', stateDir]
    expect((await cli(['open', '--print', ...at], options)).stderr).toContain('matches several runs')
    const opened = await cli(['open', '--print', ...at], { ...options, env })
    expect(opened).toMatchObject({ code: 0, stdout: expect.stringContaining(api.url) })
    const { stdout } = await cli(['batch', 'status', 'drop', '--state-dir', stateDir, '--json'], { ...options, env })
    expect(JSON.parse(stdout)).toMatchObject({ run_id: first.run_id })
    expect((await cli(['batch', 'rm', '--yes', ...at], options)).stderr).toContain('matches several runs')
    expect((await cli(['batch', 'rm', '--yes', ...at], { ...options, env })).code).toBe(0)
    expect((await list()).map(({ server }: { server: string }) => server)).toEqual([other.url])
  })

  test.each(['results', 'retry', 'status'])('name the collection of the runs of a file: batch %s', async (command) => {
    const { mint, stateDir, options, path } = await home()
    await mint((await fakeApi(service())).url, 'drop.csv')
    const at = { ...options, cwd: path('') }
    const { stderr } = await cli(['batch', command, 'drop.csv', '-c', OTHER_CONTRACT, '--state-dir', stateDir], at)
    expect(stderr).toContain(`./drop.csv has no run in the collection ${OTHER_CONTRACT}, but has these runs:\n`)
    expect(stderr).toMatch(/To select the collection, use --contract 0x[0-9a-fA-F]{40}\./)
  })

  test.each([
    ['a flag', { argv: ['--profile', 'studio'] }],
    ['a profile', { env: { GDN_PROFILE: 'studio' } }],
  ])(
    'never finds the run of another folder for a file whose runs are on other servers than that of %s',
    async (_how, {
      argv = [],
      env = {},
    }: {
      argv?: string[]
      env?: Record<string, string>
    }) => {
      const { mint, gdn, stateDir, options, path, list } = await home({ 'jan/drop.csv': CSV, 'feb/drop.csv': CSV })
      const rejecting = { createnft: () => ({ status: 400, body: {} }) }
      const [first, second] = [await fakeApi(rejecting), await fakeApi(rejecting)]
      const other = await fakeApi(service())
      const mine: string[] = []
      for (const { url } of [first, second]) mine.push(JSON.parse((await mint(url, 'jan/drop.csv')).stdout).run_id)
      await mint(other.url, 'feb/drop.csv')
      await gdn('config', 'set', 'base_url', other.url, '--profile', 'studio')
      const at = { env: { ...options.env, ...env }, cwd: path('jan') }
      for (const command of [
        ['batch', 'status'],
        ['batch', 'results'],
        ['batch', 'report'],
        ['batch', 'rm', '--yes'],
        ['open', '--print'],
      ]) {
        const failed = await cli([...command, 'drop.csv', ...argv, '--state-dir', stateDir, '--json'], at)
        expect(failed.code, command.join(' ')).toBe(2)
        expect(errorOf(failed).message).toContain(`./drop.csv has no run on ${other.url}, but has these runs:\n`)
        for (const part of [...mine, first.url, second.url]) expect(errorOf(failed).message).toContain(part)
        expect(errorOf(failed).hint).toContain('To select the server, add --local or --base-url <url>.')
      }
      for (const command of ['retry', 'resume', 'reconcile']) {
        const { code, stderr } = await cli(['batch', command, 'drop.csv', ...argv, '--state-dir', stateDir], at)
        expect({ command, code }).toEqual({ command, code: 2 })
        expect(stderr).toContain('./drop.csv has no run on')
      }
      expect(await list()).toHaveLength(3)
    },
  )

  test('the name of a renamed manifest is an error that names the command with which the run follows it', async () => {
    const { mint, stateDir, options, path } = await home({ 'drop.csv': CSV })
    const api = await fakeApi(service())
    const { run } = JSON.parse((await mint(api.url, 'drop.csv')).stdout)
    await rename(path('drop.csv'), path('nordsee.csv'))
    const failed = await cli(['batch', 'status', 'nordsee.csv', '--state-dir', stateDir], {
      ...options,
      cwd: path('.'),
    })
    expect(failed.code).toBe(2)
    const command = `gdn apply ./nordsee.csv --run drop.csv --adopt -c ${CONTRACT} -b polygon --base-url ${api.url} --state-dir ${stateDir}`
    expect(failed.stderr).toContain(`${run} (${path('drop.csv')}): ${command}\n`)
    const [, , ...shown] = command.replace('./nordsee.csv', path('nordsee.csv')).split(' ')
    const planned = await cli(['plan', ...shown], { ...options, cwd: path('.') })
    expect(planned.stderr).toContain('2 unchanged')
  })

  test('the name of a copy in another folder is an error that names the runs of the same file name', async () => {
    const { mint, stateDir, options, path, list } = await home({ 'jan/drop.csv': CSV, 'feb/drop.csv': CSV })
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url, 'feb/drop.csv')).stdout)
    const run = async (...argv: string[]) =>
      await cli([...argv, '--state-dir', stateDir, '--json'], { ...options, cwd: path('jan') })
    for (const command of [['status'], ['results'], ['retry'], ['rm', '--yes']]) {
      const failed = await run('batch', ...command, 'drop.csv')
      expect(failed.code, command.join(' ')).toBe(2)
      expect(errorOf(failed).message).toBe('there is no run of ./drop.csv on this machine')
      expect(errorOf(failed).hint).toMatch(
        new RegExp(`${run_id}.*feb/drop.csv\nTo use one of these runs, specify its ID`),
      )
      expect(errorOf(failed).hint).not.toContain('--adopt')
    }
    expect(errorOf(await run('open', 'drop.csv')).message).toBe('there is no run of ./drop.csv on this machine')
    await rm(path('feb/drop.csv'))
    expect(errorOf(await run('batch', 'status', './drop.csv')).hint).toContain(
      `If the file was moved from ${path('feb/drop.csv')}, run \`gdn apply ./drop.csv --adopt -c ${CONTRACT} -b polygon --base-url ${api.url} --state-dir ${stateDir}\`.`,
    )
    expect(await list()).toHaveLength(1)
  })

  test('needs no server, so a profile without one does not hide the runs of the same name', async () => {
    const { gdn, mint, stateDir, options, path } = await home({
      'jan/drop.csv': CSV,
      'feb/drop.csv': CSV,
      'drop.csv': CSV,
    })
    const api = await fakeApi(service())
    await mint(api.url, 'jan/drop.csv')
    await mint(api.url, 'feb/drop.csv', '--again')
    await gdn('config', 'set', 'rate', '5', '--profile', 'default')
    const run = async (...argv: string[]) =>
      errorOf(await cli([...argv, '--state-dir', stateDir, '--json'], { ...options, cwd: path('.') })).message
    for (const command of ['status', 'results', 'report']) {
      expect(await run('batch', command, 'drop.csv'), command).toBe('there is no run of ./drop.csv on this machine')
      expect(await run('batch', command, 'drop'), command).toContain('drop matches several runs:\n')
    }
  })

  test('named with --run is found by that name, also where a file without a run has it', async () => {
    const { mint, stateDir, options, path } = await home({ 'drop.csv': CSV, 'jan/drop.csv': CSV })
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url, 'jan/drop.csv', '--run', 'drop.csv')).stdout)
    for (const name of ['drop.csv', path('jan/drop.csv')]) {
      const status = await cli(['batch', 'status', name, '--state-dir', stateDir, '--json'], {
        ...options,
        cwd: path('.'),
      })
      expect(JSON.parse(status.stdout).run_id).toBe(run_id)
    }
  })

  test('a name that matches several runs selects that of GDN_CONTRACT or the profile', async () => {
    const { mint, gdn, stateDir, options, path } = await home()
    const api = await fakeApi(service())
    const first = JSON.parse((await mint(api.url)).stdout)
    const argv = ['-c', OWNER, '-b', 'polygon', '--state-dir', stateDir, '--base-url', api.url, '--json']
    const second = JSON.parse((await cli(['batch', 'mint', path('drop.csv'), ...argv], options)).stdout)
    await gdn('config', 'set', 'base_url', api.url, '--profile', 'studio')
    await gdn('config', 'set', 'contract', OWNER, '--profile', 'studio')
    for (const [env, run] of [
      [{ GDN_CONTRACT: CONTRACT }, first],
      [{ GDN_CONTRACT: OWNER.toLowerCase() }, second],
      [{ GDN_CONTRACT: CONTRACT, GDN_BASE_URL: api.url }, first],
      [{ GDN_PROFILE: 'studio' }, second],
    ] as const) {
      const found = (more: string[]) => cli(more, { ...options, env: { ...options.env, ...env } })
      const status = await found(['batch', 'status', path('drop.csv'), '--state-dir', stateDir, '--json'])
      expect(JSON.parse(status.stdout)).toMatchObject({ run_id: run.run_id })
      for (const command of ['results', 'retry', 'reconcile']) {
        const { code, stderr } = await found(['batch', command, path('drop.csv'), '--state-dir', stateDir])
        expect({ command, code, stderr }).toMatchObject({ code: 0 })
      }
    }
    const env = { ...options.env, GDN_CONTRACT: CONTRACT.toLowerCase().replace(/..$/, '00') }
    const none = await cli(['batch', 'status', path('drop.csv'), '--state-dir', stateDir], { ...options, env })
    expect(none.stderr).toContain('matches several runs')
  })

  test('selects the run of -c, and rejects a collection that has none', async () => {
    const { mint, gdn, stateDir, options, path, list } = await home()
    const api = await fakeApi(service())
    const first = JSON.parse((await mint(api.url)).stdout)
    const argv = ['-c', OWNER, '-b', 'polygon', '--state-dir', stateDir, '--base-url', api.url, '--json']
    const second = JSON.parse((await cli(['batch', 'mint', path('drop.csv'), ...argv], options)).stdout)
    const at = ['--state-dir', stateDir]
    for (const [contract, { run_id }] of [
      [CONTRACT, first],
      [OWNER.toLowerCase(), second],
    ] as const) {
      const { stdout } = await gdn('batch', 'status', path('drop.csv'), '-c', contract, ...at, '--json')
      expect(JSON.parse(stdout)).toMatchObject({ run_id })
      for (const command of ['results', 'report', 'retry', 'resume', 'reconcile']) {
        const { code, stderr } = await gdn('batch', command, path('drop.csv'), '-c', contract, ...at)
        expect({ command, code, stderr }).toMatchObject({ code: 0 })
      }
    }
    for (const command of [
      ['status'],
      ['results'],
      ['report'],
      ['retry'],
      ['resume'],
      ['reconcile'],
      ['rm', '--yes'],
    ]) {
      const none = await gdn('batch', ...command, path('drop.csv'), '-c', NO_CONTRACT, ...at)
      expect({ command, code: none.code }).toEqual({ command, code: 2 })
      expect(none.stderr, command[0]).toContain(`has no run in the collection ${NO_CONTRACT}, but has these runs:\n`)
      expect(none.stderr, command[0]).toContain('To select the collection, use --contract 0x')
    }
    expect(errorOf(await gdn('batch', 'status', 'other', '-c', CONTRACT, ...at, '--json')).message).toBe(
      `there is no run other on this machine in the collection ${CONTRACT}`,
    )
    expect((await gdn('batch', 'rm', '--finished', '-c', NO_CONTRACT, ...at, '--yes')).code).toBe(0)
    expect(await list()).toHaveLength(2)
    expect((await gdn('batch', 'rm', path('drop.csv'), '-c', OWNER, ...at, '--yes')).code).toBe(0)
    expect(await list()).toMatchObject([{ run_id: first.run_id }])
  })

  test('rejects -c of gdn open without a run of that collection', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const open = async (...argv: string[]) =>
      errorOf(await gdn('open', ...argv, '--print', '--json', '--state-dir', stateDir, '--base-url', api.url)).message
    expect(await open('-c', CONTRACT)).toBe('--contract: no run is specified')
    expect(await open('drop', '-c', NO_CONTRACT)).toContain(`in the collection ${NO_CONTRACT}`)
  })

  test('selects the newest of several drops of one run', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const secondSummary = JSON.parse((await mint(api.url, 'drop.csv', '--again')).stdout)
    const { stdout } = await gdn('batch', 'status', 'drop', '--state-dir', stateDir, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ run_id: secondSummary.run_id, drop: 2 })
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
    expect(stderr).toContain('On a server without reference IDs, a later run may mint the rows again.')
    expect(await list()).toEqual([])
  })

  test('requires --yes for a run with unsent rows or rows with an unknown outcome, and says what is lost', {
    tags: ['promise'],
  }, async () => {
    const { mint, gdn, stateDir, list } = await home()
    const api = await takes(1)
    await mint(api.url, 'drop.csv', '--chunk-size', '1', '--timeout', '10s')
    const refused = await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--json')
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(/1 unknown.*record of 1 row with an unknown outcome/),
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
