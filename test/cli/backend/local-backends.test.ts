/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { VERSION } from '../../../src/core/version.ts'
import { exportDatabase } from '../../../src/server/database/export.ts'
import { importDatabase } from '../../../src/server/database/import.ts'
import { createTestCollection, startTestBackend, type TestBackend, WALLETS, withStore } from '../../helpers/backend.ts'
import { copyFolder } from '../../helpers/backups.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { enterCollections } from '../../helpers/known-collections.ts'
import { ownPort } from '../../helpers/own-port.ts'
import { cli, errorOf, tempHome, timeUpWhileWaiting } from '../harness.ts'

/** The data directory of the backend that `--local` uses. */
const localDir = (home: string) => join(home, '.local', 'share', 'gdn', 'local')

let dir: string
let env: NodeJS.ProcessEnv
let backends: TestBackend[]
beforeEach(async () => {
  ;({ dir, env } = await tempHome())
  backends = []
  await mkdir(localDir(dir), { recursive: true })
})
afterEach(() => Promise.all(backends.map((backend) => backend.close())))

async function start(dataDir: string, port = 0): Promise<TestBackend> {
  const backend = await startTestBackend(dataDir, { port })
  backends.push(backend)
  return backend
}

async function stop(backend: TestBackend): Promise<void> {
  backends = backends.filter((one) => one !== backend)
  await backend.close()
}

describe('gdn serve', () => {
  test('names the local backend that uses its port, and another gdn backend', async () => {
    const serve = async (port: string) =>
      errorOf(await gdn(['serve', '--data-dir', join(dir, 'third'), '--port', port, '--json']))
    const local = await start(localDir(dir))
    expect(await serve(new URL(local.url).port)).toMatchObject({
      code: 'port_in_use',
      message: expect.stringMatching(/^--port: the local backend \(process \d+\) uses port \d+$/),
      hint: expect.stringMatching(
        /^Run `gdn local stop` to stop that backend, or:\n.* --port.*\n.* GDN_BASE_URL or --base-url/,
      ),
    })
    const other = await start(join(dir, 'other'))
    expect((await serve(new URL(other.url).port)).message).toMatch(/: another gdn backend uses port \d+$/)
  })
})

const idOf = async ({ get }: TestBackend) =>
  ((await (await get('/healthz')).json()) as { backend_id: string }).backend_id

/** The routes of a backend's requests, from its log. */
const asked = ({ log }: TestBackend) => log.flatMap((line) => (JSON.parse(line) as { route?: string }).route ?? [])

/** The sorted titles of the NFTs in a data directory. Requests in flight at once change their order. */
const titlesIn = (dataDir: string) =>
  withStore(dataDir, async ({ db }) => {
    const rows = await db.selectFrom('nfts').select('metadata').orderBy('seq').execute()
    return rows.map(({ metadata }) => (JSON.parse(metadata) as { title: string }).title).sort()
  })

const manifest = (rows: number, from = 1) =>
  [
    'id,title,description,receiver',
    ...Array.from({ length: rows }, (_, i) => `r${from + i},T${from + i},text,${WALLETS[1]}`),
  ].join('\n')

const gdn = (argv: string[], more: NodeJS.ProcessEnv = {}) => cli(argv, { env: { ...env, ...more }, cwd: dir })

/** Copies a backend with its collections under a new identity. The first must be stopped. */
async function copyAsOther(from: string, to: string): Promise<void> {
  await copyFolder(from, to)
  const identity = { id: randomUUID(), incarnation: randomUUID() }
  await withStore(to, ({ db }) => db.updateTable('backend').set(identity).execute())
}

test('local start --port beside a backend on another port says so, and starts none', async () => {
  const { url } = await start(localDir(dir))
  const { port } = new URL(url)
  expect(await gdn(['local', 'start', '--port', port])).toMatchObject({ code: 0 })
  const other = await gdn(['local', 'start', '--port', String(Number(port) - 1), '--json'])
  expect(other.code).toBe(2)
  expect(errorOf(other)).toMatchObject({
    message: `--port: the local backend is already running on ${url}`,
    hint: expect.stringContaining('gdn local stop'),
  })
})

test('local start rejects an option that differs from that of the running backend', async () => {
  const { url } = await start(localDir(dir))
  expect(await gdn(['local', 'start', '--rate-limits', 'off'])).toMatchObject({ code: 0 })
  for (const argv of [['--rate-limits', 'on'], ['--allow-html-files'], ['--ipfs-gateway', 'https://ipfs.example']]) {
    const other = await gdn(['local', 'start', ...argv, '--json'])
    expect({ argv, code: other.code }).toEqual({ argv, code: 2 })
    expect(errorOf(other)).toMatchObject({
      message: `${argv[0]}: the local backend is already running on ${url}`,
      hint: `Run \`gdn local stop\` first, then \`gdn local start ${argv.join(' ')}\`.`,
    })
  }
})

test('local start says that the configuration is newer than the backend, and what the backend reports', async () => {
  await start(localDir(dir))
  const record = join(localDir(dir), 'backend.json')
  const running = JSON.parse(await readFile(record, 'utf8'))
  const problem = "the file storage can't be reached: the IPFS node 127.0.0.1:5001"
  const ready = await startHttpServer(() => ({ status: 503, json: { status: 'not ready', problems: [problem] } }))
  onTestFinished(() => ready.close())
  await writeFile(record, JSON.stringify({ ...running, url: ready.url }))
  await writeFile(join(localDir(dir), 'backend.yaml'), 'storage: { kind: disk }\n', { mode: 0o600 })
  const later = new Date(Date.now() + 60_000)
  await utimes(join(localDir(dir), 'backend.yaml'), later, later)
  const { code, stderr } = await gdn(['local', 'start'])
  expect(code).toBe(0)
  expect(stderr).toContain(
    'backend.yaml was changed after the backend started. Run `gdn local stop` and `gdn local start` to apply the change.',
  )
  expect(stderr).toContain(problem)
})

test('local start and doctor name the other version of gdn that the backend runs', async () => {
  const { url } = await start(localDir(dir))
  const own = await gdn(['local', 'start'])
  expect(own).toMatchObject({ code: 0, stderr: `The local backend is already running on ${url}.\n` })
  expect((await gdn(['doctor', '--local'])).stdout).toContain(`listens on ${url}\t`)

  const record = join(localDir(dir), 'backend.json')
  const running = JSON.parse(await readFile(record, 'utf8'))
  await writeFile(record, JSON.stringify({ ...running, version: '0.0.1' }))
  const other = await gdn(['local', 'start'])
  expect(other).toMatchObject({
    code: 0,
    stderr: `The local backend is already running on ${url}.\nIt runs gdn 0.0.1. Run \`gdn local stop\` and \`gdn local start\` to run gdn ${VERSION}.\n`,
  })
  const checked = await gdn(['doctor', '--local'])
  expect(checked.stdout).toMatch(/warn\tlocal backend\tlistens on .*, but runs gdn 0\.0\.1 instead of /)
})

/** A run of three rows on the local backend that was interrupted after the first row. */
async function interrupted(local: TestBackend) {
  const collection = await createTestCollection(local)
  await writeFile(join(dir, 'part.csv'), manifest(3))
  const stopping = new AbortController()
  const target = ['-c', collection.address, '-b', 'polygon']
  const going = cli(
    ['batch', 'mint', join(dir, 'part.csv'), '--local', ...target, '--chunk-size', '1', '--rate', '1', '--json'],
    {
      env,
      cwd: dir,
      signal: stopping.signal,
    },
  )
  await expect.poll(() => titlesIn(localDir(dir))).toHaveLength(1)
  stopping.abort()
  expect((await going).code).toBe(130)
  return { collection, target }
}

describe('a run on a local backend', () => {
  test('is never resumed on another backend, which receives neither a key nor a row', async () => {
    const local = await start(localDir(dir))
    const other = await start(join(dir, 'other'))
    await interrupted(local)
    const key = other.apiKey.reveal()
    await mkdir(join(dir, '.config', 'gdn'), { recursive: true })
    const config = { profiles: { default: { base_url: other.url } } }
    await writeFile(join(dir, '.config', 'gdn', 'config.json'), JSON.stringify(config), { mode: 0o600 })

    const named = await gdn(['batch', 'resume', 'part', '--base-url', other.url, '--json'], { GDN_API_KEY: key })
    expect(named.code).toBe(2)
    const { code, message, details } = errorOf(named)
    expect(code).toBe('wrong_backend')
    for (const part of [local.url, other.url, await idOf(local), await idOf(other)]) expect(message).toContain(part)
    expect(details).toMatchObject({ recorded: { url: local.url }, found: { url: other.url } })

    // The profile names the other backend and no flag does: the run finds its own backend.
    const resumed = await gdn(['batch', 'resume', 'part', '--json', '--rate', '1000'])
    expect(resumed).toMatchObject({ code: 0 })
    expect(await titlesIn(localDir(dir))).toEqual(['T1', 'T2', 'T3'])
    expect(new Set(asked(other))).toEqual(new Set(['/healthz']))
    expect(await titlesIn(join(dir, 'other'))).toEqual([])
  })

  test.each([
    ['renamed', 'renamed.csv', /: gdn (apply \.\/renamed\.csv .*--local)\n/],
    ['moved', 'moved/part.csv', /run `gdn (apply \S+part\.csv --adopt .*--local)`\./],
  ])('is found by the command that the hint names after its manifest was %s', async (_, to, command) => {
    await interrupted(await start(localDir(dir)))
    await mkdir(join(dir, 'moved'))
    await rename(join(dir, 'part.csv'), join(dir, to))
    const shown = to === 'renamed.csv' ? to : join(dir, to)
    const [, apply = ''] = command.exec((await gdn(['batch', 'results', shown])).stderr) ?? []
    const argv = apply.replace('./', `${dir}/`).split(' ')
    expect(await gdn([...argv, '--yes', '--rate', '1000'])).toMatchObject({ code: 0 })
    expect(await titlesIn(localDir(dir))).toEqual(['T1', 'T2', 'T3'])
    expect(await gdn(['batch', 'results', shown])).toMatchObject({ code: 0 })
  })

  test('is resumed without flags if its backend listens on another port, and gdn open prints that port', async () => {
    const local = await start(localDir(dir))
    const { target } = await interrupted(local)
    await stop(local)
    const away = await gdn(['batch', 'resume', 'part', '--json'])
    expect(away.code).toBe(6)
    expect(errorOf(away)).toMatchObject({ code: 'unreachable', message: expect.stringContaining(local.url) })
    expect(errorOf(await gdn(['open', 'part', '--print', '--json']))).toMatchObject({ code: 'unreachable' })

    // Another backend listens on the old port: it isn't the one of the run.
    const squatter = await startTestBackend(join(dir, 'squatter'), { port: Number(new URL(local.url).port) })
    backends.push(squatter)
    expect(errorOf(await gdn(['batch', 'resume', 'part', '--json']))).toMatchObject({ code: 'wrong_backend' })

    const moved = await start(localDir(dir))
    expect(moved.url).not.toBe(local.url)
    expect(await gdn(['open', 'part', '--print'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(`^${moved.url}/runs/[0-9a-f]{16}\n$`),
    })
    const resumed = await gdn([
      'batch',
      'mint',
      join(dir, 'part.csv'),
      '--local',
      ...target,
      '--json',
      '--rate',
      '1000',
    ])
    expect(resumed.code).toBe(0)
    expect(JSON.parse(resumed.stdout)).toMatchObject({ total: 3, deployed: 3 })
    expect(await titlesIn(localDir(dir))).toEqual(['T1', 'T2', 'T3'])
    expect(await titlesIn(join(dir, 'squatter'))).toEqual([])
    const listed = async (...flags: string[]) => JSON.parse((await gdn(['batch', 'list', '--json', ...flags])).stdout)
    expect(await listed('--local')).toMatchObject([{ server: local.url, backend_id: await idOf(moved) }])
    expect(await listed('--base-url', moved.url)).toHaveLength(1)
    expect(await listed('--base-url', squatter.url)).toEqual([])
  })

  test('is separate from a run of the same manifest on another backend with the same collection address', async () => {
    const first = await start(localDir(dir))
    const { address } = await createTestCollection(first)
    await stop(first)
    await copyAsOther(localDir(dir), join(dir, 'other'))
    const [local, other] = [await start(localDir(dir)), await start(join(dir, 'other'))]
    await writeFile(join(dir, 'drop.csv'), manifest(2))
    const mint = (url: string, key: string) =>
      gdn(
        ['batch', 'mint', join(dir, 'drop.csv'), '-c', address, '-b', 'polygon', '--base-url', url, '--rate', '1000'],
        {
          GDN_API_KEY: key,
        },
      )
    expect(await mint(local.url, local.apiKey.reveal())).toMatchObject({ code: 0 })
    expect(await mint(other.url, other.apiKey.reveal())).toMatchObject({ code: 0 })
    expect(await titlesIn(join(dir, 'other'))).toEqual(['T1', 'T2'])
    expect(await titlesIn(localDir(dir))).toEqual(['T1', 'T2'])
  })
})

describe('after the data of a backend was deleted', () => {
  test('commands on its runs and collections name both backends, and send no row', async () => {
    const port = await ownPort()
    const before = await start(localDir(dir), port)
    const { address } = await createTestCollection(before)
    const target = ['--local', '-c', address, '-b', 'polygon']
    const drop = join(dir, 'drop.csv')
    await writeFile(drop, manifest(1))
    expect(await gdn(['batch', 'mint', drop, ...target, '--json'])).toMatchObject({ code: 0 })
    const lost = await idOf(before)
    await stop(before)
    expect(await gdn(['local', 'reset', '--yes'])).toMatchObject({ code: 0 })
    const after = await start(localDir(dir), port)
    const names = {
      code: 'wrong_backend',
      message: expect.stringMatching(`^the run drop-.*${lost}.*${await idOf(after)}`),
    }
    for (const argv of [
      ['batch', 'mint', drop],
      ['batch', 'mint', drop, '--dry-run'],
      ['plan', drop],
      ['apply', drop, '--yes'],
    ]) {
      const stopped = await gdn([...argv, ...target, '--json'])
      expect({ argv, code: stopped.code }).toEqual({ argv, code: 2 })
      expect(errorOf(stopped)).toMatchObject(names)
    }
    expect(errorOf(await gdn(['batch', 'results', drop, '--verify', '--json']))).toMatchObject({
      code: 'wrong_backend',
    })
    expect(new Set(asked(after))).toEqual(new Set(['/healthz']))
    for (const argv of [
      ['nft', 'list', ...target],
      ['nft', 'mint', ...target, '--receiver', WALLETS[1] ?? '', '--title', 'A', '--yes'],
      ['batch', 'mint', drop, ...target, '--run', 'other'],
      ['collection', 'show', address, '--local'],
      [
        'collection',
        'set',
        address,
        '--local',
        '-b',
        'polygon',
        '--enable-transfer',
        '--wallet',
        WALLETS[0] ?? '',
        '--yes',
      ],
    ]) {
      const stopped = await gdn([...argv, '--json'])
      expect({ argv, code: stopped.code, error: errorOf(stopped).code }).toEqual({
        argv,
        code: 2,
        error: 'wrong_backend',
      })
      expect(errorOf(stopped)).toMatchObject({
        message: expect.stringMatching(
          `^the collection ${address} belongs to the backend ${lost}, last seen at ${before.url}; `,
        ),
        hint: expect.stringContaining('If the data of that backend was deleted, create another collection'),
      })
    }
  })

  test('a run in a new collection with the same address is not stopped', async () => {
    const port = await ownPort()
    const first = await start(localDir(dir), port)
    const { address, id } = await createTestCollection(first)
    await stop(first)
    await copyAsOther(localDir(dir), join(dir, 'empty'))
    const before = await start(localDir(dir), port)
    const mint = ['batch', 'mint', join(dir, 'drop.csv'), '--local', '-c', address, '-b', 'polygon', '--json']
    await writeFile(join(dir, 'drop.csv'), manifest(1))
    expect(await gdn(mint)).toMatchObject({ code: 0 })
    await stop(before)
    await rename(localDir(dir), join(dir, 'before'))
    await rename(join(dir, 'empty'), localDir(dir))
    const after = await start(localDir(dir), port)
    expect(errorOf(await gdn(mint)).code).toBe('wrong_backend')
    const known = { transaction_gdn_id: id, contract_address: address }
    const stateDir = join(dir, '.local', 'state', 'gdn')
    await enterCollections(stateDir, { origin: `backend:${await idOf(after)}`, url: after.url, ...known })
    expect(await gdn(mint)).toMatchObject({ code: 0 })
  })
})

test('does not resume a mint of another backend that listened on the same port', async () => {
  const dataDir = localDir(dir)
  const port = await ownPort()
  const first = await start(dataDir, port)
  const { address } = await createTestCollection(first)
  const content = ['--receiver', WALLETS[1], '--title', 'Dawn', '--image', 'http://127.0.0.1:9/away.png']
  const argv = ['nft', 'mint', '--local', '-c', address, '-b', 'polygon', ...content]
  const mint = () => cli(argv, { env, cwd: dir, ...timeUpWhileWaiting() })
  // The mint stays pending, and the same command resumes it.
  expect((await mint()).code).toBe(8)
  expect(await mint()).toMatchObject({ code: 8, stderr: expect.stringContaining('Resuming it') })
  await stop(first)
  await rename(dataDir, `${dataDir}-before`)
  await copyAsOther(`${dataDir}-before`, dataDir)
  await start(dataDir, port)
  const minted = await mint()
  expect(minted).toMatchObject({ code: 8, stderr: expect.not.stringMatching(/Resuming|does not know/) })
  expect(await titlesIn(dataDir)).toEqual(['Dawn', 'Dawn'])
})

describe('a backend restored from a backup', () => {
  test('is queried for every row, and rows that it lost get an unknown outcome and are not retried', async () => {
    const dataDir = localDir(dir)
    const target = async () => {
      const { address } = await createTestCollection(await start(dataDir))
      return ['--local', '-c', address, '-b', 'polygon', '--rate', '1000', '--json']
    }
    const flags = await target()
    const drop = join(dir, 'drop.csv')
    await writeFile(drop, manifest(2))
    expect(await gdn(['batch', 'mint', join(dir, 'drop.csv'), ...flags])).toMatchObject({ code: 0 })
    await stop(backends[0] as TestBackend)
    const backup = join(dir, 'backup.jsonl')
    await exportDatabase({ dataDir }, backup)

    const before = await start(dataDir)
    await writeFile(drop, manifest(4))
    expect((await gdn(['batch', 'mint', join(dir, 'drop.csv'), ...flags])).code).toBe(0)
    await stop(before)
    await rename(dataDir, `${dataDir}-lost`)
    await importDatabase({ dataDir }, backup)

    const restored = await start(dataDir)
    // One new row, which is sent, and nothing else.
    await writeFile(drop, manifest(5))
    const mint = () => gdn(['batch', 'mint', join(dir, 'drop.csv'), ...flags, '--no-wait'])
    const resumed = await mint()
    expect(resumed.code).toBe(9)
    expect(await titlesIn(dataDir)).toEqual(['T1', 'T2', 'T5'])
    const results = async () =>
      JSON.parse((await gdn(['batch', 'results', 'drop', '--json'])).stdout) as { status: string; error: string }[]
    expect((await results()).map(({ status }) => status)).toEqual([
      'accepted',
      'accepted',
      'unknown',
      'unknown',
      'accepted',
    ])
    expect((await results())[2]?.error).toContain('restored from a backup')
    expect((await mint()).code).toBe(9)
    expect(await titlesIn(dataDir)).toEqual(['T1', 'T2', 'T5'])
    expect(asked(restored).filter((path) => path === '/api/v1/createnft')).toHaveLength(1)
  })
})
