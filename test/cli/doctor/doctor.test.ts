/** @module-tag slow */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compareClocks } from '../../../src/cli/commands/doctor/server.ts'
import { writeRunning } from '../../../src/server/data-dir/running.ts'
import { changeSchema } from '../../helpers/change-schema.ts'
import { startEnsNode } from '../../helpers/ens-node.ts'
import { filesHolding, textHolds } from '../../helpers/leaks.ts'
import { memoryKeyring } from '../../helpers/memory-keyring.ts'
import { type FakeApi, fakeApi } from '../fake-api.ts'
import { type CliOptions, type CliResult, cli, tempHome } from '../harness.ts'
import type { Finding } from './finding.ts'

const KEY = 'gdn_0123456789abcdefghijklmnopqrstuvwxyz'

const found = ({ stdout }: CliResult): Finding[] => JSON.parse(stdout)
const of = (result: CliResult, check: string) => found(result).find((finding) => finding.check === check)
const wrong = (result: CliResult) => found(result).filter(({ status }) => status !== 'ok')

async function home() {
  const { dir, env } = await tempHome()
  const write = async (path: string, content: unknown, mode = 0o600) => {
    const file = join(dir, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content), { mode })
    await chmod(file, mode)
    return file
  }
  const doctor = (argv: string[] = [], options: CliOptions = {}) =>
    cli(['doctor', '--json', ...argv], { ...options, env: { ...env, ...options.env } })
  return { dir, env, write, doctor }
}

describe('the node for ENS names', () => {
  test('is checked if one is configured', async () => {
    const { doctor } = await home()
    const node = await startEnsNode({})
    onTestFinished(() => node.close())
    expect(of(await doctor(), 'ENS node')).toBeUndefined()
    const result = await doctor([], { env: { GDN_ENS_RPC_URL: `${node.url}/v2/k3y-0123456789` } })
    expect(of(result, 'ENS node')).toMatchObject({
      status: 'ok',
      message: `${new URL(node.url).origin} is a node of Ethereum mainnet (from GDN_ENS_RPC_URL)`,
    })
    expect(result.stdout).not.toContain('k3y')
  })

  test('fails if it is on another chain, or does not respond', async () => {
    const { doctor } = await home()
    const node = await startEnsNode({}, { chainId: 137 })
    onTestFinished(() => node.close())
    const other = await doctor([], { env: { GDN_ENS_RPC_URL: node.url } })
    expect(of(other, 'ENS node')).toMatchObject({
      status: 'fail',
      message: 'the node has the chain ID 137, but ENS names are on Ethereum (1)',
    })
    const gone = await doctor([], { env: { GDN_ENS_RPC_URL: 'http://127.0.0.1:9' } })
    expect(of(gone, 'ENS node')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('http://127.0.0.1:9'),
      fix: expect.stringContaining('node'),
    })
  })
})

/** A server that permits only these endpoints, and rejects empty requests as the contract says. */
async function server(
  permitted: readonly string[],
  healthz = () => ({ body: {} }),
  more: Parameters<typeof fakeApi>[0] = {},
): Promise<FakeApi> {
  const refusal = (status: number) => ({ status, body: { error: { title: 'x', message: 'y' } } })
  const empty = (name: string) => () => refusal(permitted.includes(name) ? 400 : 403)
  return await fakeApi({
    '/healthz': healthz,
    getisgdnnft: (body: object) => {
      if (!permitted.includes('getisgdnnft')) return refusal(403)
      if (Object.keys(body).length === 0) return refusal(422)
      return { body: { requests: { nft_gdn_id: 'x', ...body }, response: { isgdnnft: false } } }
    },
    createnft: empty('createnft'),
    transfernft: empty('transfernft'),
    createcollection: empty('createcollection'),
    getpresignedurl: empty('getpresignedurl'),
    ...more,
  })
}

const SERVER = ['--base-url', 'http://127.0.0.1:9']

test('suggests selecting a server on a machine without configuration, and exits with 0', async () => {
  const { doctor } = await home()
  const result = await doctor()
  expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: '' })
  expect(wrong(result)).toMatchObject([{ check: 'profile', status: 'warn', fix: expect.stringContaining('gdn init') }])
})

test('reports a working key with its likely permissions, without side effects and without printing the key', async () => {
  const { dir, doctor } = await home()
  const { url, calls, bodies } = await server(['getisgdnnft', 'createnft'])
  const result = await doctor(['--base-url', url], { env: { GDN_API_KEY: KEY }, keyring: memoryKeyring() })
  expect(of(result, 'API key')).toMatchObject({
    status: 'ok',
    message: `works at ${url}; seems to permit nft:read, nft:create; seems not to permit nft:transfer, collection:create, wallet:create`,
  })
  for (const name of ['createnft', 'transfernft', 'createcollection', 'getpresignedurl']) {
    expect(bodies(name)).toEqual([{}])
  }
  // The health check comes first and carries no key.
  expect(calls[0]).toMatchObject({ path: '/healthz', headers: expect.not.objectContaining({ 'x-api-key': KEY }) })
  expect(textHolds(result.stdout + result.stderr, KEY)).toBe(false)
  expect(await filesHolding(dir, KEY)).toEqual([])
})

test.each([404, 405])('omits the permission for an endpoint that the server lacks, with status %i', async (status) => {
  const { doctor } = await home()
  const { url } = await server(['getisgdnnft'], undefined, { updatednft: () => ({ status, body: {} }) })
  const result = await doctor(['--base-url', url], { env: { GDN_API_KEY: KEY }, keyring: memoryKeyring() })
  expect(of(result, 'API key')?.message).not.toContain('nft:update')
})

describe('problems that make commands fail', () => {
  test.each([
    ['a byte order mark', '\ufeff{}', 'begins with a byte order mark'],
    ['a key twice', '{"profile":"a","profile":"b"}', 'is repeated'],
    ['__proto__', '{"__proto__":{}}', 'not allowed as a key'],
    ['an unknown setting', '{"profiles":{"a":{"base_ur":"x"}}}', 'is not a known setting'],
    ['an API key', '{"profiles":{"a":{"api_key":"x"}}}', 'an API key is not allowed here'],
  ])('exits with 2 for a configuration with %s', async (_what, text, message) => {
    const { write, doctor } = await home()
    const file = await write('.config/gdn/config.json', text)
    const result = await doctor()
    expect(result.code).toBe(2)
    expect(of(result, 'configuration')).toMatchObject({ status: 'fail', message: expect.stringContaining(message) })
    expect(of(result, 'configuration')?.message).toContain(file)
  })

  test('exits with 2 for a tab in the YAML of a project, and shows its line', async () => {
    const { dir, write, doctor } = await home()
    const file = await write('project/.gdnrc.yaml', 'blockchain: polygon\n\tcontract: x\n')
    const result = await doctor([], { cwd: join(dir, 'project') })
    expect(result.code).toBe(2)
    expect(of(result, 'project')).toMatchObject({ status: 'fail', message: expect.stringContaining(`${file}:2`) })
  })

  test('exits with 2 for an unknown profile, and suggests the nearest name', async () => {
    const { write, doctor } = await home()
    await write('.config/gdn/config.json', { profiles: { work: {} } })
    const result = await doctor(['--profile', 'wrok'])
    expect(result.code).toBe(2)
    expect(of(result, 'profile')).toMatchObject({ status: 'fail', fix: 'Did you mean work?' })
  })

  test('exits with 4 for saved keys that others can read, and prints the command that fixes it', async () => {
    const { write, doctor } = await home()
    const file = await write('.config/gdn/credentials.json', { 'https://a.test': KEY }, 0o644)
    const result = await doctor()
    expect(result.code).toBe(4)
    expect(of(result, 'saved keys')).toMatchObject({ status: 'fail', fix: `Run \`chmod 600 ${file}\`.` })
  })

  test('exits with 6 for an unreachable server, and does not check the key', async () => {
    const { doctor } = await home()
    const result = await doctor(SERVER, { env: { GDN_API_KEY: KEY } })
    expect(result.code).toBe(6)
    expect(of(result, 'server')).toMatchObject({ status: 'fail', message: 'nothing listens at http://127.0.0.1:9' })
    expect(of(result, 'API key')).toBeUndefined()
  })

  test('exits with 6 for an unresolvable host name or a missing local backend', async () => {
    const { doctor } = await home()
    const named = await doctor(['--base-url', 'https://not-here.invalid'])
    expect(named.code).toBe(6)
    expect(of(named, 'server')?.message).toContain("can't resolve the host name not-here.invalid")
    const local = await doctor(['--local'])
    expect(local.code).toBe(6)
    expect(of(local, 'server')?.fix).toContain('gdn local start')
  })

  test('exits with 4 for a missing or rejected key', async () => {
    const { doctor } = await home()
    const { url } = await fakeApi({
      '/healthz': () => ({ body: {} }),
      getisgdnnft: () => ({ status: 401, body: { error: { title: 'Unauthorized', message: 'no' } } }),
    })
    const refused = await doctor(['--base-url', url], { env: { GDN_API_KEY: KEY } })
    expect(refused.code).toBe(4)
    expect(of(refused, 'API key')).toMatchObject({ status: 'fail', message: expect.stringContaining('Unauthorized') })
    const missing = await doctor(['--base-url', url])
    expect(missing.code).toBe(4)
    expect(of(missing, 'API key')?.fix).toContain('gdn auth login')
  })

  test('exits with 2 for a state folder that is not writable', async () => {
    const { write, doctor } = await home()
    const file = await write('a-file', 'x')
    const result = await doctor(['--state-dir', join(file, 'state')])
    expect(result.code).toBe(2)
    expect(of(result, 'state')).toMatchObject({ status: 'fail', fix: expect.stringContaining('--state-dir') })
  })

  test.each([
    ['damaged', (path: string) => writeFile(path, 'not a database, and long enough to be looked at '.repeat(100))],
    ['of another schema', (path: string) => changeSchema(dirname(path), 6)],
  ])('exits with 2 for a state that is %s, and leaves it unchanged', async (_, damage) => {
    const { write, doctor } = await home()
    const path = await write('state/state.db', '')
    await damage(path)
    const before = await readFile(path)
    const result = await doctor(['--state-dir', dirname(path)])
    expect(result.code).toBe(2)
    const said = wrong(result).filter(({ check }) => check === 'runs')
    expect(said).toMatchObject([{ status: 'fail', message: expect.stringContaining(path) }])
    expect(await readFile(path)).toEqual(before)
  })
})

describe('problems that may matter later', () => {
  test('warns about a configuration or a state folder that others can write to, and exits with 0', async () => {
    const { dir, write, doctor } = await home()
    const config = await write('.config/gdn/config.json', { profiles: {} }, 0o666)
    const state = join(dir, 'state')
    await mkdir(state)
    await chmod(state, 0o777)
    const result = await doctor(['--state-dir', state])
    expect(result.code).toBe(0)
    expect(of(result, 'configuration')).toMatchObject({ status: 'warn', fix: `Run \`chmod go-w ${config}\`.` })
    expect(of(result, 'state')).toMatchObject({ status: 'warn', fix: `Run \`chmod go-w ${state}\`.` })
  })

  test.each([
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'proxy and TLS', 'any server can impersonate yours'],
    [{ NODE_EXTRA_CA_CERTS: '/not/here.pem' }, 'proxy and TLS', "can't be read"],
    [{ HTTPS_PROXY: 'proxy:3128' }, 'proxy and TLS', 'HTTPS_PROXY is not the URL'],
    [{ GDN_APIKEY: 'x' }, 'environment', 'GDN_APIKEY is not a gdn environment variable'],
  ])('warns about %j', async (env, check, message) => {
    const { doctor } = await home()
    const result = await doctor([], { env })
    expect(result.code).toBe(0)
    expect(of(result, check)).toMatchObject({ status: 'warn', message: expect.stringContaining(message) })
  })

  test('shows a proxy without its password', async () => {
    const { doctor } = await home()
    const result = await doctor([], { env: { HTTPS_PROXY: 'http://me:pass-word@proxy.test:3128' } })
    expect(of(result, 'proxy and TLS')?.message).toContain('proxy.test:3128')
    expect(result.stdout).not.toContain('pass-word')
  })
})

describe('the clock', () => {
  const server = { baseUrl: '', origin: 'https://a.test', source: 'flag', from: '', isLoopback: false } as const
  const noon = Date.parse('2026-01-31T12:00:00Z')
  const date = 'Sat, 31 Jan 2026 12:00:00 GMT'

  test.each([
    ['ten minutes behind', -600_000, 'this machine is 10 minutes behind https://a.test'],
    ['an hour ahead', 3_600_000, 'this machine is 60 minutes ahead of https://a.test'],
  ])('warns about a clock that is %s', (_what, skew, message) => {
    expect(compareClocks(date, noon + skew, server)).toMatchObject([{ status: 'warn', message }])
  })

  test('accepts a difference below a minute, and skips the check without a date or for a local server', () => {
    expect(compareClocks(date, noon + 30_000, server)).toMatchObject([{ status: 'ok' }])
    expect(compareClocks(undefined, noon, server)).toEqual([])
    expect(compareClocks('gibberish', noon, server)).toEqual([])
    expect(compareClocks(date, noon + 3_600_000, { ...server, isLoopback: true })).toEqual([])
  })
})

test('starts each finding on a terminal with its status, and prints the fix below, at 80 and 40 columns', async () => {
  const { env } = await home()
  for (const columns of [80, 40]) {
    const { stdout, code } = await cli(['doctor', ...SERVER], { env, tty: true, columns })
    expect(code).toBe(6)
    expect(stdout).toMatch(/^ok {4}Node\.js: v/m)
    expect(stdout).toMatch(/^FAIL {2}server: nothing listens at\s+http:\/\/127\.0\.0\.1:9$/m)
    expect(stdout).toMatch(/^ {6}→ Run `gdn local start`/m)
  }
})

describe('problems that a backend reports', () => {
  const CONDITION = {
    ready: false,
    problems: ['the disk of the data directory is full: 12 MiB free'],
    warnings: ['polygon: no node responds'],
  }
  const readyz = () => ({ status: 503, body: CONDITION })
  const ailing = () => fakeApi({ '/healthz': () => ({ body: {} }), '/readyz': readyz })
  const told = (result: CliResult) =>
    wrong(result)
      .filter(({ check }) => /backend/.test(check))
      .map(({ check, message, fix }) => [check, message, fix])
  const onNetwork = 'Run `gdn chain status polygon` on the machine of the backend for details.'

  async function localBackend({ url }: FakeApi) {
    const { dir, write, doctor } = await home()
    await write('.local/share/gdn/local/api-key', KEY)
    await writeRunning(join(dir, '.local/share/gdn/local'), url)
    return { doctor }
  }

  test('are listed, with the fix if there is one', async () => {
    const { doctor } = await home()
    expect(told(await doctor(['--base-url', (await ailing()).url]))).toEqual([
      ['backend', 'the disk of the data directory is full: 12 MiB free', null],
      ['backend', 'polygon: no node responds', onNetwork],
    ])
  })

  test('are listed once if the server is the local backend', async () => {
    const { doctor } = await localBackend(await ailing())
    const result = await doctor(['--local'])
    expect(told(result).map(([check]) => check)).toEqual(['backend', 'backend'])
    expect(of(result, 'local backend')?.status).toBe('ok')
  })

  test('are listed for the local backend beside another server, with the command that shows its log', async () => {
    const { doctor } = await localBackend(await fakeApi({ '/readyz': readyz }))
    expect(told(await doctor(SERVER))).toEqual([
      ['local backend', 'the disk of the data directory is full: 12 MiB free', 'Run `gdn local logs` to show its log.'],
      ['local backend', 'polygon: no node responds', onNetwork],
    ])
  })

  test('include a local backend whose readiness check fails', async () => {
    const { doctor } = await localBackend(await fakeApi({ '/readyz': () => ({ status: 404, body: {} }) }))
    expect(told(await doctor(SERVER))).toMatchObject([
      ['local backend', expect.stringContaining('is not ready: HTTP'), 'Run `gdn local logs` to show its log.'],
    ])
  })
})
