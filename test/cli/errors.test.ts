/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createIo, type IoSettings } from '../../src/cli/io/io.ts'
import { reportError } from '../../src/cli/render/report-error.ts'
import { GdnError } from '../../src/core/errors.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { listKnownCollections } from '../../src/state/known-collections.ts'
import { openState } from '../../src/state/open-state.ts'
import { enterCollections } from '../helpers/known-collections.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from '../helpers/rows.ts'
import { folder } from './batch/drop.ts'
import { CONTRACT, fakeApi, OWNER } from './fake-api.ts'
import { cli, tempHome } from './harness.ts'

const SETTINGS: IoSettings = { machine: false, quiet: false, debug: false, input: false, noColor: true }

async function report(error: unknown, settings: Partial<IoSettings> = {}) {
  let text = ''
  const stderr = { write: (chunk: string) => (text += chunk) }
  const io = await createIo({ env: {}, stdin: process.stdin, stdout: stderr, stderr }, { ...SETTINGS, ...settings })
  return { code: reportError(io, stderr, error), text }
}

/** Creates a backend's database with one collection. */
async function databaseWithNfts(path: string, nfts: number): Promise<void> {
  const { db, close } = await openStore(path)
  await insertAccountAndRequest(db, { accepted_at: 0 })
  await insertCollection(db, {
    name: 'Tide',
    symbol: 'T',
    contract_address: CONTRACT,
    factory_address: CONTRACT,
    enable_transfer: 0,
    next_token_id: '4',
  })
  const nft = { request_id: 'r', collection_id: 'c', receiver: OWNER, metadata: '{}', next_attempt_at: 0 }
  await insertNfts(
    db,
    Array.from({ length: nfts }, (_, i) => ({ ...nft, id: `n${i}`, status: 'initiated', step: 'files' })),
  )
  await close()
}

test('an error contains location, message and hint', async () => {
  const error = new GdnError('invalid_manifest', 'is ragged', {
    place: { file: 'drop.csv', line: 7, column: 3 },
    hint: 'add a comma',
  })
  expect(await report(error)).toEqual({ code: 2, text: 'error: drop.csv:7:3: is ragged\n  add a comma\n' })
})

test.each<[string[], string, string, string]>([
  [
    ['nft', 'show', '', '--base-url', 'http://127.0.0.1:9'],
    'nft_gdn_ids[0]',
    'must not be empty',
    'gdn nft show --help',
  ],
  [['nft', 'list', '-b', 'polygn'], '--blockchain', 'unknown blockchain', 'polygon'],
  [['nft', 'list', '--limit', 'x'], '--limit', 'must be a whole number', 'gdn nft list --help'],
  [['nft', 'mint', '-f', 'none.json'], 'none.json', "doesn't exist", 'gdn nft mint --help'],
  [['batch', 'validate', 'DROP'], 'drop.csv:1', '"description" is missing', '--map <column>=description'],
  [['config', 'list'], '.gdnrc.json', 'is not a known setting', 'Use one of'],
  [['nft', 'show', 'x', '--base-url', 'http://127.0.0.1:9'], '127.0.0.1:9', 'nothing listens', 'gdn serve'],
])('%j: the error says where, why and what to run', async (argv, place, why, fix) => {
  const { path, options } = await folder({
    'drop.csv': `title,receiver,blockchain\nDawn,${OWNER},polygon\n,${OWNER},polygon\n`,
  })
  if (argv[0] === 'config') await writeFile(path('.gdnrc.json'), '{"colour": 1}')
  const { code, stderr } = await cli(
    argv.map((word) => (word === 'DROP' ? path('drop.csv') : word)),
    options,
  )
  expect(code).not.toBe(0)
  const [first = '', ...rest] = stderr.trimEnd().split('\n')
  expect(first).toContain(place)
  expect(first).toContain(why)
  const hint = rest.find((line) => line.includes(fix))
  expect(hint).toMatch(/^ {2}[A-Z].*[.?]$/)
})

test('prints each hint below the first of several problems that has it, and one of all problems at the end', async () => {
  const issue = (line: number, hint: string | undefined) => ({ place: { file: 'd', line }, message: `m${line}`, hint })
  const shown = async (...hints: (string | undefined)[]) => {
    const issues = hints.map((hint, at) => issue(at + 1, hint))
    const error = new GdnError('invalid_manifest', 'm1', {
      place: { file: 'd', line: 1 },
      hint: hints[0],
      details: { issues },
    })
    return (await report(error)).text.trimEnd().split('\n')
  }
  expect(await shown('A.', 'B.', undefined, 'A.')).toEqual([
    'error: d:1: m1',
    ...['  A.', '  d:2: m2', '    B.', '  d:3: m3', '  d:4: m4'],
  ])
  expect(await shown('A.', 'A.')).toEqual(['error: d:1: m1', '  d:2: m2', '  A.'])
})

test('prints one line of JSON with code, message, hint and details in JSON mode', async () => {
  const error = new GdnError('pending', 'not yet', { hint: 'wait', details: { nft_gdn_ids: ['a'] } })
  const { code, text } = await report(error, { machine: true })
  expect(code).toBe(8)
  expect(text).toBe('{"error":{"code":"pending","message":"not yet","hint":"wait","details":{"nft_gdn_ids":["a"]}}}\n')
})

test('prints an unexpected error in one sentence with how to report it, and the stack only with --debug', async () => {
  const error = new TypeError('x is undefined')
  const quiet = await report(error)
  expect(quiet.code).toBe(1)
  expect(quiet.text).toContain('unexpected: x is undefined')
  expect(quiet.text).toContain('--debug')
  expect(quiet.text).toContain(`report the output at ${JSON.parse(await readFile('package.json', 'utf8')).bugs}`)
  expect(quiet.text).not.toMatch(/^\s+at /m)
  expect((await report(error, { debug: true })).text).toContain('errors.test.ts')
})

test.each([[[]], [['--debug']], [['--json']], [['--json', '--debug']]])(
  'an unexpected error and its stack have no secrets, and say so, with %j',
  async (flags) => {
    const key = 'sesame-open-0123456789'
    const { code, stderr } = await cli(
      ['api', 'getnfts', '--file', '-', '--base-url', 'http://127.0.0.1:9', ...flags],
      {
        env: { GDN_API_KEY: key },
        onStdin() {
          throw new Error(`can't parse {"api_key":"${key}"}`, { cause: new Error(`sent x-api-key: ${key}`) })
        },
      },
    )
    expect(code).toBe(1)
    expect(stderr).toContain('[redacted]')
    expect(stderr).not.toContain('sesame')
    expect(stderr).toMatch(/report the output at \S+\. Keys are shown as \[redacted\]\./)
    expect(stderr.includes('caused by')).toBe(flags.includes('--debug'))
  },
)

test('limits the list of many similar errors in a file', async () => {
  const issues = Array.from({ length: 1000 }, (_, i) => ({
    place: { file: 'd.csv', line: i + 2 },
    message: 'no receiver',
  }))
  const { text } = await report(new GdnError('invalid_manifest', 'no receiver (and 999 more)', { details: { issues } }))
  expect(text).toBe('error: d.csv:2: no receiver (1000 times: on lines 2, 3, 4, 5, 6, …)\n')
})

test('escapes external text in an error', async () => {
  const { text } = await report(new GdnError('refused', 'bad \u001b[2J\u202e', { hint: 'a\u0007' }))
  expect(text).toBe('error: bad \\u001b[2J\\u202e\n  a\\u0007\n')
})

test('wraps a message between words at the width of a terminal, and never in a pipe', async () => {
  const argv = ['nft', 'show', 'x']
  const narrow = await cli(argv, { stderrTty: true, columns: 40 })
  for (const line of narrow.stderr.split('\n')) expect(line.length).toBeLessThanOrEqual(40)
  const whole = (await cli(argv)).stderr
  expect(whole.split('\n')).toHaveLength(3)
  expect(narrow.stderr.split(/\s+/)).toEqual(whole.split(/\s+/))
})

test('reports an invalid address before it requires a blockchain', async () => {
  const { code, stderr } = await cli(['nft', 'list', '-c', '0x123', '--base-url', 'http://127.0.0.1:9'], {
    env: { GDN_API_KEY: 'k' },
  })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('must have 40 hex digits') })
})

test('reports an empty request', async () => {
  const { code, stderr } = await cli(['nft', 'mint', '-f', '-', '--base-url', 'http://127.0.0.1:9'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('stdin: is empty') })
})

test('rejects a misspelled field of metadata, which would be minted as an extra key', async () => {
  const nft = { title: 'Dawn', description: 'x', file_fields: [], atribute: 'x' }
  const target = { contract_address: `0x${'1'.repeat(40)}`, blockchain: 'polygon' }
  const request = { ...target, receiver_wallet_address: target.contract_address, metadata: [nft] }
  const { code, stderr } = await cli(['nft', 'mint', '-f', '-', '--base-url', 'http://127.0.0.1:9'], {
    stdin: JSON.stringify(request),
    env: { GDN_API_KEY: 'k' },
  })
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('(metadata[0].atribute): is not a field of metadata: did you mean "attribute"?'),
  })
})

test('suggests a command for a rejected key that works when run', async () => {
  const api = await fakeApi({ getnfts: () => ({ status: 401, body: {} }) })
  const { code, stderr } = await cli(['nft', 'show', 'x', '--base-url', api.url], { env: { GDN_API_KEY: 'wrong' } })
  expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('GDN_API_KEY') })
  const command = /`gdn (auth login [^`]*)`/.exec(stderr)?.[1] ?? ''
  expect(await cli(command.split(' '), { stdin: 'right\n' })).toMatchObject({ code: 0 })
})

describe('selecting a server', () => {
  test('exits with 2 if none is selected, and names every way to select one', async () => {
    const { code, stderr } = await cli(['nft', 'show', 'x'])
    expect(code).toBe(2)
    for (const way of ['gdn init', '--local', '--base-url']) expect(stderr).toContain(way)
  })

  test('exits with 6 if --local finds no backend, and names the command that starts it', async () => {
    const { code, stderr } = await cli(['nft', 'show', 'x', '--local'])
    expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringContaining('gdn local start') })
  })

  test('rejects --local together with --base-url', async () => {
    const api = await fakeApi({})
    expect(await cli(['nft', 'show', 'x', '--local', '--base-url', api.url])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('--local and --base-url select different servers') },
    })
    expect(api.calls).toEqual([])
  })

  test('exits with 6 if the server is unreachable', async () => {
    const server = ['--base-url', 'http://127.0.0.1:1', '--wallet', OWNER]
    const { env } = await tempHome()
    expect(
      await cli(['collection', 'create', '-b', 'polygon-mumbai', '--name', 'x', ...server], {
        env: { ...env, GDN_API_KEY: 'k' },
      }),
    ).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('nothing listens at http://127.0.0.1:1') })
  })
})

describe('local', () => {
  test('status --json prints exactly running, url, data_dir and pid', async () => {
    const { dir, env } = await tempHome()
    const { code, stdout } = await cli(['local', 'status', '--json'], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      running: false,
      url: null,
      data_dir: join(dir, '.local', 'share', 'gdn', 'local'),
      pid: null,
    })
  })

  test('status ignores the record of a dead backend', async () => {
    const { dir, env } = await tempHome()
    const data = join(dir, '.local', 'share', 'gdn', 'local')
    await mkdir(data, { recursive: true })
    await writeFile(
      join(data, 'backend.json'),
      JSON.stringify({ url: 'http://127.0.0.1:1', pid: process.pid, started_at: 1 }),
    )
    const { stdout } = await cli(['local', 'status', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ running: false, pid: null })
  })

  test('reset deletes no folder that no backend created', async () => {
    const { dir, env } = await tempHome()
    const data = join(dir, '.local', 'share', 'gdn', 'local')
    await mkdir(data, { recursive: true })
    await writeFile(join(data, 'photos'), 'x')
    const { code, stderr } = await cli(['local', 'reset', '--yes'], { env })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing was deleted') })
  })

  test('reset requires --yes off a terminal, and says how many collections and NFTs are lost', async () => {
    const { dir, env } = await tempHome()
    const data = join(dir, '.local', 'share', 'gdn', 'local')
    await mkdir(data, { recursive: true })
    await writeFile(join(data, 'api-key'), 'x')
    await writeFile(join(data, 'gdn.db'), 'damaged')
    expect((await cli(['local', 'reset'], { env })).stderr).toContain('this deletes all collections and NFTs of')
    await rm(join(data, 'gdn.db'))
    await databaseWithNfts(join(data, 'gdn.db'), 3)
    expect(await cli(['local', 'reset'], { env })).toEqual({
      code: 3,
      stdout: '',
      stderr:
        'error: confirmation required: this deletes 1 collection and 3 NFTs of the local backend, with its chains, files and API key\n' +
        '  Add --yes to confirm.\n',
    })
    expect((await stat(data)).isDirectory()).toBe(true)
    expect((await cli(['local', 'reset', '--yes'], { env })).code).toBe(0)
    expect((await cli(['local', 'reset', '--yes'], { env })).stderr).toContain('nothing to delete')
  })

  test('reset of a backend on PostgreSQL says that it keeps the database, and its collections stay known', async () => {
    const { dir, env } = await tempHome()
    const data = join(dir, '.local', 'share', 'gdn', 'local')
    const stateDir = join(dir, '.local', 'state', 'gdn')
    const id = randomUUID()
    await mkdir(data, { recursive: true })
    await writeFile(join(data, 'api-key'), 'x')
    await writeFile(join(data, 'backend-id'), id)
    await enterCollections(stateDir, { origin: `backend:${id}` })
    const { code, stderr } = await cli(['local', 'reset'], { env })
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'error: confirmation required: this deletes the files and API key of the local backend, but not its database, which is stored elsewhere\n' +
        '  Add --yes to confirm.\n',
    })
    expect((await cli(['local', 'reset', '--yes'], { env })).code).toBe(0)
    expect(existsSync(data)).toBe(false)
    const state = await openState(stateDir)
    expect(await state.read(listKnownCollections)).toMatchObject([{ origin: `backend:${id}` }])
    state.close()
  })

  test('stop exits with 0 if nothing runs', async () => {
    expect((await cli(['local', 'stop'])).code).toBe(0)
  })

  test('logs reports a missing log and names gdn local start', async () => {
    expect(await cli(['local', 'logs'])).toMatchObject({ code: 2, stderr: expect.stringContaining('gdn local start') })
  })
})

test('names a field once if the message names it, with its location in the file', async () => {
  const issues = [
    { place: { file: 'd.csv', line: 2, column: 3, field: 'receiver' }, message: 'receiver is the zero address' },
    { place: { file: 'd.csv', line: 3, column: 1, field: 'title' }, message: 'title must not be empty' },
  ]
  const [first] = issues
  const error = new GdnError('invalid_manifest', `${first?.message} (and 1 more)`, {
    ...(first === undefined ? {} : { place: first.place }),
    details: { issues },
  })
  expect((await report(error)).text).toBe(
    'error: d.csv:2:3: receiver is the zero address (and 1 more)\n  d.csv:3:1: title must not be empty\n',
  )
})

test('names the invalid one of several IDs once', async () => {
  const run = await cli(['nft', 'show', '', '--base-url', 'http://127.0.0.1:9'], { env: { GDN_API_KEY: 'x' } })
  expect(run.code).toBe(2)
  expect(run.stderr).toMatch(/nft_gdn_ids\[0\] must not be empty/)
  expect(run.stderr.split('nft_gdn_ids[0]')).toHaveLength(2)
})
