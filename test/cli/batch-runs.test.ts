import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acquireLock } from '../../src/core/process-lock.ts'
import { CSV, folder, service, TARGET } from './drop.ts'
import { CONTRACT, fakeApi, OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

const ELSEWHERE = 'https://api.example.invalid'

/** A home with runs in it, made by minting against a server that takes what the test says. */
async function home(files: Record<string, string> = { 'drop.csv': CSV }) {
  const { path, options } = await folder(files)
  const stateDir = path('state')
  const at = [...TARGET, '--state-dir', stateDir, '--json']
  const gdn = async (...argv: string[]) => await cli(argv, options)
  const mint = async (url: string, name = 'drop.csv', ...more: string[]) =>
    gdn('batch', 'mint', path(name), ...at, '--base-url', url, ...more)
  const list = async (...more: string[]) =>
    JSON.parse((await gdn('batch', 'list', '--state-dir', stateDir, '--json', ...more)).stdout)
  const files_ = async () => (await readdir(join(stateDir, 'runs'))).sort()
  return { path, options, stateDir, gdn, mint, list, files: files_ }
}

/** A server that takes the first so many requests and is gone then. */
async function takes(requests: number) {
  const { createnft, getnfts } = service()
  let left = requests
  const api = await fakeApi({
    createnft: (body) => (left-- > 0 ? createnft(body) : { status: 500, body: {} }),
    getnfts,
  })
  return api
}

const accepting = async () => {
  const { createnft } = service()
  return await fakeApi({ createnft })
}

describe('batch list', () => {
  test('tells the runs newest first, with their state', async () => {
    const { mint, list } = await home({ 'a.csv': CSV, 'b.csv': CSV })
    const api = await fakeApi(service())
    await mint(api.url, 'a.csv')
    await mint(api.url, 'b.csv', '--no-wait', '--again')
    expect(await list()).toMatchObject([
      { run: expect.stringMatching(/^b-/), state: 'unfinished', accepted: 2, drop: 1 },
      { run: expect.stringMatching(/^a-/), state: 'finished', deployed: 2, contract_address: CONTRACT },
    ])
  })

  test('a server that a flag names leaves out the runs of others', async () => {
    const { mint, list } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    expect(await list('--base-url', api.url)).toHaveLength(1)
    expect(await list('--local')).toEqual([])
    expect(await list('--base-url', ELSEWHERE)).toEqual([])
  })

  test('a damaged journal is shown with what is wrong with it, and keeps nothing else from being shown', async () => {
    const { mint, list, stateDir, files, gdn } = await home({ 'a.csv': CSV, 'b.csv': CSV, 'c.csv': CSV })
    const api = await fakeApi(service())
    for (const name of ['a.csv', 'b.csv', 'c.csv']) await mint(api.url, name, '--again')
    const [a, b] = (await files())
      .filter((name) => name.endsWith('.journal'))
      .map((name) => join(stateDir, 'runs', name))
    // One is spoilt at its very beginning, another in its middle.
    await spoil(a ?? '', 3)
    await spoil(b ?? '', -40)
    const runs: { state: string; problem: string | null; deployed: number }[] = await list()
    expect(runs.map(({ state }) => state).sort()).toEqual(['damaged', 'damaged', 'finished'])
    for (const { problem } of runs.filter(({ state }) => state === 'damaged')) expect(problem).toContain('is damaged')
    const { code, stderr } = await gdn('batch', 'list', '--state-dir', stateDir)
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('2 damaged journals') })
  })

  test('on a terminal it tells how long ago a run began, off one exactly when', async () => {
    const { mint, options, stateDir, gdn } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const { stdout } = await cli(['batch', 'list', '--state-dir', stateDir], { ...options, tty: true })
    expect(stdout).toMatch(/^RUN +STATE +ROWS +AGE\ndrop-[0-9a-f]{4} +finished +2 rows: 2 deployed +now\n$/)
    expect((await gdn('batch', 'list', '--state-dir', stateDir)).stdout).toMatch(/\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/)
    const status = await cli(['batch', 'status', 'drop', '--state-dir', stateDir], { ...options, tty: true })
    expect(status.stdout).toMatch(/^STARTED AT {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/m)
  })

  test('of the drops of a run that a process works on, a finished one is not running', async () => {
    const { mint, list, files, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    await mint(api.url, 'drop.csv', '--again', '--no-wait')
    const lock = (await files()).find((name) => name.endsWith('.lock')) ?? ''
    const held = await acquireLock(join(stateDir, 'runs', lock), 'a batch')
    expect(await list()).toMatchObject([
      { drop: 2, state: 'running', running: true },
      { drop: 1, state: 'finished', running: false },
    ])
    await held.release()
  })

  test('what a journal came to is read again only when the journal has changed', async () => {
    const { mint, list, stateDir, files } = await home()
    const api = await accepting()
    await mint(api.url, 'drop.csv', '--no-wait')
    expect(await list()).toMatchObject([{ accepted: 2 }])
    const kept = join(stateDir, 'runs', (await files()).find((name) => name.endsWith('.counts')) ?? '')
    await writeFile(kept, (await readFile(kept, 'utf8')).replace('"accepted":2', '"accepted":7'))
    expect(await list()).toMatchObject([{ accepted: 7 }])
    await mint(api.url, 'drop.csv', '--no-wait', '--again', '--run', 'second')
    await rm(kept)
    await writeFile(kept, 'not JSON')
    expect(await list()).toMatchObject([{ accepted: 2 }, { accepted: 2 }])
  })

  test('where nothing can be kept for the next time, the runs are shown all the same', async () => {
    const { mint, list, stateDir } = await home()
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url)).stdout)
    await mkdir(join(stateDir, 'runs', `${run_id}.counts`))
    expect(await list()).toMatchObject([{ deployed: 2, problem: null }])
  })
})

describe('a run is found by', () => {
  test('its id, the beginning of its id, its name, its manifest', async () => {
    const { mint, gdn, stateDir, path } = await home()
    const api = await fakeApi(service())
    const { run, run_id } = JSON.parse((await mint(api.url)).stdout)
    for (const name of [run, run_id, run_id.slice(0, 6), 'drop', 'drop.csv', path('drop.csv')]) {
      expect((await gdn('batch', 'status', name, '--state-dir', stateDir)).code, name).toBe(0)
    }
  })

  test('a name that fits several runs: each is named with its id, collection and server', async () => {
    const { mint, gdn, stateDir, options, path } = await home()
    const api = await fakeApi(service())
    const first = JSON.parse((await mint(api.url)).stdout)
    const argv = ['-c', OWNER, '-b', 'polygon', '--state-dir', stateDir, '--base-url', api.url, '--json']
    const second = JSON.parse((await cli(['batch', 'mint', path('drop.csv'), ...argv], options)).stdout)
    const { code, stderr } = await gdn('batch', 'status', 'drop', '--state-dir', stateDir)
    expect(code).toBe(2)
    for (const told of ['fits several runs', first.run_id, second.run_id, CONTRACT, OWNER, '--base-url']) {
      expect(stderr).toContain(told)
    }
    expect((await gdn('batch', 'status', first.run_id, '--state-dir', stateDir)).code).toBe(0)
  })

  test('of several drops of one run the newest is meant', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const again = JSON.parse((await mint(api.url, 'drop.csv', '--again')).stdout)
    const { stdout } = await gdn('batch', 'status', 'drop', '--state-dir', stateDir, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ run_id: again.run_id, drop: 2 })
  })
})

describe('batch rm', () => {
  test('removes everything that is kept of a finished run, once it is confirmed, and says what that means', async () => {
    const { mint, gdn, stateDir, files, list } = await home()
    const api = await fakeApi(service())
    const { run, run_id } = JSON.parse((await mint(api.url)).stdout)
    await list()
    await writeFile(join(stateDir, 'runs', `${run_id}.index`), 'x')
    const unasked = await gdn('batch', 'rm', run, '--state-dir', stateDir, '--json')
    expect({ code: unasked.code, error: errorOf(unasked).code }).toEqual({ code: 3, error: 'not_confirmed' })
    expect(await list()).toHaveLength(1)
    const { code, stdout, stderr } = await gdn('batch', 'rm', run, '--state-dir', stateDir, '--yes')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${run}\t${run_id}\n` })
    expect(stderr).toContain('would be minted from its first row')
    expect((await files()).filter((name) => name.startsWith(run_id))).toEqual([])
    expect(await list()).toEqual([])
  })

  test('a run that has rows to send, or of unknown outcome, needs a yes, and what is lost is said', async () => {
    const { mint, gdn, stateDir, list } = await home()
    const api = await takes(1)
    await mint(api.url, 'drop.csv', '--chunk-size', '1', '--timeout', '1s')
    const refused = await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--json')
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(/1 unknown.*may have been minted/),
      hint: expect.stringContaining('--yes'),
    })
    expect(await list()).toHaveLength(1)
    expect((await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--yes')).code).toBe(0)
    expect(await list()).toEqual([])
  })

  test('a run that a process works on is refused, with --yes too', async () => {
    const { mint, gdn, stateDir, files, list } = await home()
    const api = await fakeApi(service())
    await mint(api.url)
    const lock = (await files()).find((name) => name.endsWith('.lock')) ?? ''
    const held = await acquireLock(join(stateDir, 'runs', lock), 'a batch')
    const result = await gdn('batch', 'rm', 'drop', '--state-dir', stateDir, '--yes', '--json')
    expect(errorOf(result).code).toBe('run_busy')
    await held.release()
    expect(await list()).toHaveLength(1)
  })

  test('an earlier drop stays as long as a later one is there', async () => {
    const { mint, gdn, stateDir } = await home()
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url)).stdout)
    const { run: later } = JSON.parse((await mint(api.url, 'drop.csv', '--again')).stdout)
    const refused = await gdn('batch', 'rm', run_id, '--state-dir', stateDir, '--yes', '--json')
    expect(errorOf(refused)).toMatchObject({ code: 'run_busy', hint: expect.stringContaining(later) })
    expect((await gdn('batch', 'rm', later, '--state-dir', stateDir, '--yes')).code).toBe(0)
    expect((await gdn('batch', 'rm', run_id, '--state-dir', stateDir, '--yes')).code).toBe(0)
  })

  test('--finished removes all finished ones, drops of one run too, and leaves the rest', async () => {
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

  test('a damaged journal goes by its id, when one says yes', async () => {
    const { mint, gdn, stateDir, files, list } = await home()
    const api = await fakeApi(service())
    const { run_id } = JSON.parse((await mint(api.url)).stdout)
    await spoil(join(stateDir, 'runs', `${run_id}.journal`), 3)
    expect((await gdn('batch', 'rm', run_id, '--state-dir', stateDir)).code).toBe(3)
    expect((await gdn('batch', 'rm', run_id, '--state-dir', stateDir, '--yes')).code).toBe(0)
    expect(await list()).toEqual([])
    expect((await files()).filter((name) => name.startsWith(run_id))).toEqual([])
  })

  test.each([[[]], [['drop', '--finished']]])('wants a run or --finished, and one of them: %j', async (argv) => {
    const { gdn } = await home()
    expect((await gdn('batch', 'rm', ...argv)).code).toBe(2)
  })
})

/** Turns a byte of a file around; a negative place counts from the end. */
async function spoil(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  const position = at < 0 ? size + at : at
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, position)
  await file.write(Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, position)
  await file.close()
}
