/** @module-tag slow */
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordChain } from '../../../src/server/store/chains.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { writeKeystore } from '../../helpers/keystore-file.ts'
import { textHolds } from '../../helpers/leaks.ts'
import { type StandInNode, startNode } from '../../helpers/rpc-node.ts'
import { S3_KEYS, type S3StandIn, startS3 } from '../../helpers/s3-stand-in.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, tempHome } from '../harness.ts'
import type { Finding } from './finding.ts'

const KEY = `0x${'1'.repeat(64)}` as const
const SIGNER = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'
const FACTORY = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const GWEI = '0x3b9aca00'
const RICH = '0xde0b6b3a7640000'
/** One word: an address, and also the boolean true. */
const WORD = `0x${'1'.padStart(64, '0')}`

let dir: string
let env: NodeJS.ProcessEnv
const undo: (() => unknown)[] = []

beforeEach(async () => {
  ;({ dir, env } = await tempHome())
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function doctor(settings: string | null, more: NodeJS.ProcessEnv = {}) {
  const flags = settings === null ? [] : ['--config', join(dir, 'backend.yaml'), '--data-dir', join(dir, 'data')]
  if (settings !== null) await writeFile(join(dir, 'backend.yaml'), settings, { mode: 0o600 })
  const { code, stdout } = await cli(['doctor', '--json', ...flags], { env: { ...env, ...more } })
  const findings = JSON.parse(stdout) as Finding[]
  return {
    code,
    stdout,
    of: (check: string) => findings.filter((finding) => finding.check === check),
    checks: findings.map(({ check }) => check),
  }
}

async function bucket(): Promise<S3StandIn> {
  const s3 = await startS3(['art'])
  undo.push(() => s3.close())
  await writeFile(
    join(dir, 'keys'),
    `[default]\naws_access_key_id = ${S3_KEYS.accessKeyId}\naws_secret_access_key = ${S3_KEYS.secret}\n`,
    { mode: 0o600 },
  )
  return s3
}
const inBucket = (url: string) => `storage: { kind: s3, bucket: art, endpoint: "${url}", credentials_file: keys }\n`

async function node(chainId = 137): Promise<StandInNode> {
  const started = await startNode({
    ...{ eth_chainId: `0x${chainId.toString(16)}`, eth_blockNumber: '0x2a', eth_maxPriorityFeePerGas: GWEI },
    ...{ eth_getBlockByNumber: { baseFeePerGas: GWEI }, eth_getBalance: RICH, eth_call: WORD },
  })
  undo.push(() => started.close())
  await writeKeystore(join(dir, 'op.json'), KEY)
  return started
}
const onPolygon = (...urls: string[]) =>
  `chains: { polygon: { rpc_urls: [${urls.map((url) => `'${url}'`).join(', ')}], operators: [{ keystore: op.json, password_file: none }] } }\n`

/** Creates the database of a backend that was set up. */
async function setUp() {
  await mkdir(join(dir, 'data'), { recursive: true })
  const store = await openStore(join(dir, 'data', 'gdn.db'))
  await recordChain(store.db, {
    ...{ blockchain: 'polygon', network: 'remote', chain_id: 137, genesis_timestamp: 0 },
    ...{ factory_address: FACTORY, created_at: 1 },
  })
  await store.close()
}

test('checks no backend if none is configured', async () => {
  const { checks } = await doctor(null)
  expect(checks).not.toContain('backend')
  expect(checks).not.toContain('database')
})

test('checks a backend configuration in the gdn data directory serve or named by GDN_BACKEND_CONFIG', async () => {
  const own = join(dir, '.local/share/gdn/local')
  await mkdir(own, { recursive: true, mode: 0o700 })
  await writeFile(join(own, 'backend.yaml'), 'chains: {}\n', { mode: 0o600 })
  expect((await doctor(null)).of('backend')).toMatchObject([{ status: 'ok', message: expect.stringContaining(own) }])
  const elsewhere = await doctor(null, { GDN_BACKEND_CONFIG: join(dir, 'nowhere.yaml') })
  expect(elsewhere.code).toBe(2)
  expect(elsewhere.of('backend')).toMatchObject([{ status: 'fail', message: expect.stringContaining('nowhere.yaml') }])
})

test('exits with 2 and the location for an invalid configuration, and skips the other checks', async () => {
  const { code, of, checks } = await doctor('chains:\n  polygon: { rpc_url: x }\n')
  expect(code).toBe(2)
  expect(of('backend')).toMatchObject([{ status: 'fail', message: expect.stringContaining('rpc_urls') }])
  expect(checks).not.toContain('data dir')
})

test('writes and reads a file in the data directory, reports free space, and leaves nothing behind', async () => {
  const { code, of } = await doctor('chains: {}\n')
  expect(code).toBe(0)
  expect(of('data dir')).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/is writable, [\d.]+ GiB free/) },
  ])
  expect(of('database')).toMatchObject([{ status: 'ok', message: expect.stringContaining('no database yet') }])
  expect(await readdir(join(dir, 'data'))).toEqual([])
})

test('exits with 2 if the data directory is a file', async () => {
  await writeFile(join(dir, 'data'), 'x')
  const { code, of } = await doctor('chains: {}\n')
  expect(code).toBe(2)
  expect(of('data dir')).toMatchObject([{ status: 'fail', fix: expect.stringContaining('--data-dir') }])
})

test('accepts an up-to-date database, and reports missing migrations with the command that applies them', async () => {
  await setUp()
  expect((await doctor('chains: {}\n', {})).of('database')).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/responds in [\d.]+ ms, schema up to date/) },
  ])
  const store = await openStore(join(dir, 'data', 'gdn.db'))
  await store.db.deleteFrom('kysely_migration' as never).execute()
  await store.close()
  expect((await doctor('chains: {}\n')).of('database')).toMatchObject([
    {
      status: 'warn',
      message: expect.stringContaining('lacks migrations: 0001-initial'),
      fix: expect.stringContaining('gdn db migrate'),
    },
  ])
})

test('stores a file in a bucket and reads it back, without adding objects on later runs', async () => {
  const s3 = await bucket()
  expect((await doctor(inBucket(s3.url))).of('storage')).toMatchObject([
    {
      status: 'ok',
      message: expect.stringMatching(/^the bucket art .* stores a file in \d+ ms and returns it in \d+ ms/),
    },
  ])
  const objectCount = s3.objects.size
  await doctor(inBucket(s3.url))
  expect(s3.objects.size).toBe(objectCount)
})

const SPOILT: Readonly<Record<string, (s3: S3StandIn) => unknown>> = {
  'is unreachable': (s3) => s3.close(),
  'rejects writes': (s3) => {
    s3.answer = ({ method }) => (method === 'PUT' ? { status: 403 } : null)
  },
  'returns different bytes': (s3) => {
    s3.content = (bytes) => Buffer.from(bytes).reverse()
  },
}

test.each([
  ['is unreachable', 6, /can't be reached/],
  ['rejects writes', 4, /403/],
  ['returns different bytes', 2, /does not return the stored file/],
])('reports a bucket that %s, with exit code %i', async (what, exitCode, message) => {
  const s3 = await bucket()
  await SPOILT[what]?.(s3)
  const { code, of, stdout } = await doctor(inBucket(s3.url))
  expect(of('storage')).toMatchObject([{ status: 'fail', message: expect.stringMatching(message) }])
  expect(code).toBe(exitCode)
  expect(textHolds(stdout, S3_KEYS.secret)).toBe(false)
})

test('checks each node, the factory, and each signer with its funds, and shows no provider key', async () => {
  await setUp()
  const [first, second] = [await node(), await node()]
  const { code, of, stdout } = await doctor(onPolygon(`${first.url}/v2/0123456789abcdef0123456789abcdef`, second.url))
  expect(code).toBe(0)
  const host = (url: string) => new URL(url).host
  expect(of('polygon node').map(({ status, message }) => [status, message.replace(/\d+ ms/, 'so long')])).toEqual(
    [first, second].map(({ url }) => ['ok', `${host(url)} responds in so long, chain 137, block 42`]),
  )
  expect(of('polygon factory')).toMatchObject([{ status: 'ok', message: `deployed at ${FACTORY}` }])
  expect(of('polygon signer')).toMatchObject([{ status: 'ok', message: `${SIGNER} has 1 POL` }])
  expect(stdout).not.toContain('0123456789abcdef')
})

test('reports a node that is down or on another chain, and still checks the others', async () => {
  await setUp()
  const [there, other, gone] = [await node(), await node(1), await node()]
  await gone.close()
  const { code, of } = await doctor(onPolygon(there.url, other.url, gone.url))
  expect(code).toBe(2)
  expect(of('polygon node').map(({ status }) => status)).toEqual(['ok', 'fail', 'fail'])
  expect(of('polygon node')[1]?.message).toMatch(/belongs to chain 1, not 137$/)
  expect(of('polygon node')[2]?.message).toMatch(/does not respond/)
  expect(of('polygon signer')).toMatchObject([{ status: 'ok' }])
})

test.each([
  [
    'has no funds',
    { eth_getBalance: '0x0' },
    'polygon signer',
    'fail',
    /^the signer 0x\w+ has 0 POL on polygon and needs [0-9.]+: send [0-9.]+ POL$/,
  ],
  [
    'has little funds',
    { eth_getBalance: '0x470de4df820000' },
    'polygon signer',
    'warn',
    /which is enough for only a few requests/,
  ],
  [
    'is not authorized',
    { eth_call: `0x${'0'.repeat(64)}` },
    'polygon signer',
    'fail',
    /is not authorized by the factory/,
  ],
  ['has no factory', { eth_call: '0x' }, 'polygon factory', 'fail', /the network has no factory at 0x/],
])('reports a signer that %s', async (_, changed, check, status, message) => {
  await setUp()
  const only = await node()
  Object.assign(only.answers, changed)
  const found = (await doctor(onPolygon(only.url))).of(check)
  expect(found).toMatchObject([{ status, message: expect.stringMatching(message), fix: expect.any(String) }])
})

test('reports a network problem once, in detail, if the backend runs on the machine of its configuration', async () => {
  await setUp()
  const gone = await node()
  await gone.close()
  const warnings = ['polygon: no node responds', 'ethereum: no node responds']
  const url = (await fakeApi({ '/healthz': () => ({ body: {} }), '/readyz': () => ({ body: { warnings } }) })).url
  const { of } = await doctor(onPolygon(gone.url), { GDN_BASE_URL: url })
  expect(of('polygon node')).toMatchObject([{ status: 'fail' }])
  expect(of('backend').filter(({ status }) => status === 'warn')).toMatchObject([{ message: warnings[1] }])
})

test('reports a network that was not set up, with the commands that show the cost and set it up', async () => {
  await setUp()
  const store = await openStore(join(dir, 'data', 'gdn.db'))
  await store.db.deleteFrom('chains').execute()
  await store.close()
  const only = await node()
  expect((await doctor(onPolygon(only.url))).of('polygon factory')).toMatchObject([
    {
      ...{ status: 'fail', message: 'polygon is not set up yet' },
      fix: expect.stringMatching(/^Run `gdn chain setup polygon --dry-run\b.* Then run it without --dry-run\.$/),
    },
  ])
})

test('rejects a configuration that others can read, and prints the command that fixes it', async () => {
  await writeFile(join(dir, 'backend.yaml'), 'chains: {}\n')
  await chmod(join(dir, 'backend.yaml'), 0o644)
  const { stdout } = await cli(['doctor', '--json', '--config', join(dir, 'backend.yaml')], { env })
  const [found] = (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'backend')
  expect(found).toMatchObject({ status: 'fail', fix: expect.stringMatching(/^Run `chmod 600 /) })
  expect(existsSync(join(dir, 'data'))).toBe(false)
})
