/** @module-tag slow */
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { READ_METHODS } from '../../src/server/chain/rpc/read-methods.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { expectNoProcesses, processesWith } from '../helpers/processes.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { type RpcProxy, startRpcProxy } from '../helpers/rpc-proxy.ts'

const KEY = 'k3yOfAProviderThatNobodyMaySee'

let network: PublicNetwork
let proxy: RpcProxy
let isDown = false
let isOdd = false
let home: GdnHome
let temporary: string

beforeAll(async () => {
  network = await startPublicNetwork([], { chainId: 8453 })
  await network.call('anvil_mine', ['0x14', '0x2'])
})
afterAll(() => network?.close())

beforeEach(async () => {
  isDown = false
  isOdd = false
  proxy = await startRpcProxy(network.url, {
    refuse: () => (isDown ? { status: 503 } : undefined),
    answer: ({ method }) => (isOdd && method === 'eth_getBalance' ? { result: { odd: true } } : undefined),
  })
  home = await makeHome()
  temporary = home.dir
})
afterEach(async () => {
  await proxy.close()
  await home.remove()
})

/** What a command may leave behind: temporary folders, and processes with a file in one. */
const folders = () => readdirSync(temporary).filter((name) => name.startsWith('gdn-exec-'))
const env = () => ({ TMPDIR: temporary })
const exec = (fork: string, script: string) => ['local', 'exec', '--fork', fork, '--', 'sh', '-c', script]
const gdn = `"${process.execPath}" "${GDN_BIN}"`
const create = `${gdn} collection create --name Dawn -b base --wallet ${OWNER} --json > collection.json`
const mint = `${gdn} nft mint --title x --receiver ${OWNER} --json`

test('mints on a fork, which only reads from the network and shows its key to nobody', async () => {
  const before = await network.call('eth_getBlockByNumber', ['latest', false])
  const file = join(home.dir, 'node')
  await writeFile(file, `${proxy.url}/v2/${KEY}\n`, { mode: 0o600 })
  const find = `grep -rl ${KEY} "${temporary}" | grep -v '/node$'; env | grep ${KEY}; ps axww -o args | grep -v grep | grep ${KEY}`
  const script = `${create} && ${mint} > nft.json && ${gdn} local status >/dev/null; { ${find}; } > found; true`
  const { code, stdout, stderr } = await home.run(exec('base=@node', script), { env: env() })
  expect(stderr).toContain('Forked base at block 20 from ')
  expect(code).toBe(0)
  expect(JSON.parse(await readFile(join(home.dir, 'nft.json'), 'utf8'))).toMatchObject({
    status: 'deployed',
    token_id: '1',
  })
  expect(await readFile(join(home.dir, 'found'), 'utf8')).toBe('')
  expect(stdout + stderr).not.toContain(KEY)

  const methods = new Set(proxy.calls.map(({ method }) => method))
  expect(methods).toContain('eth_getStorageAt')
  expect([...methods].filter((method) => !READ_METHODS.has(method))).toEqual([])
  expect(await network.call('eth_getBlockByNumber', ['latest', false])).toEqual(before)
  expect(await network.pool()).toEqual([])
  const { contract_address } = JSON.parse(await readFile(join(home.dir, 'collection.json'), 'utf8'))
  expect(await network.call('eth_getCode', [contract_address, 'latest'])).toBe('0x')
  expect(folders()).toEqual([])
  await expectNoProcesses(join(temporary, 'gdn-exec-'))
})

test('rejects a node of another chain, and a network without a URL', async () => {
  const other = await home.run(exec(`avalanche=${proxy.url}/${KEY}`, 'true'), { env: env() })
  expect(other).toMatchObject({ code: 2, stdout: '' })
  expect(other.stderr).toMatch(/^error: the node at 127\.0\.0\.1:\d+ belongs to chain 8453, not 43114\n/)
  const none = await home.run(exec('base', 'true'), { env: env() })
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('Set GDN_FORK_URL') })
  expect(folders()).toEqual([])
})

test('ends the command with one message when the network can no longer be read', async () => {
  const script = `${create} && touch created; while [ ! -e down ]; do sleep 0.1; done; exec ${mint}`
  const running = home.start(exec('base', script), { env: { ...env(), GDN_FORK_URL: `${proxy.url}/${KEY}` } })
  await until(
    () => existsSync(join(home.dir, 'created')),
    (isThere) => isThere,
  )
  isDown = true
  await writeFile(join(home.dir, 'down'), '')
  const { exitCode, stderr } = await running
  expect(exitCode).toBe(6)
  expect(String(stderr)).toMatch(
    /error: the fork of base can't continue: the node at 127\.0\.0\.1:\d+ returned HTTP 503/,
  )
  expect(String(stderr)).not.toContain(KEY)
  expect(folders()).toEqual([])
  await expectNoProcesses(join(temporary, 'gdn-exec-'))
})

test('names the network whose answers a fork cannot use', async () => {
  isOdd = true
  const { code, stderr } = await home.run(exec(`base=${proxy.url}/${KEY}`, 'true'), { env: env() })
  expect(code).toBe(6)
  expect(stderr).toMatch(/^error: the fork of base can't continue: failed to get account/)
  expect(folders()).toEqual([])
})

test.each(['SIGINT', 'SIGKILL'] as const)('leaves nothing behind after %s', async (signal) => {
  const begun = join(home.dir, 'begun')
  const running = home.start(exec('base', 'echo $$ > begun; exec sleep 60'), {
    env: { ...env(), GDN_FORK_URL: proxy.url },
  })
  const pid = await until(
    async () => Number(await readFile(begun, 'utf8').catch(() => '')),
    (found) => found > 0,
  )
  const [folder = '', ...others] = folders()
  expect(others).toEqual([])
  expect(processesWith(join(folder, 'data-fork')).length).toBeGreaterThan(0)
  running.kill(signal)
  // After SIGKILL, the command is its user's.
  if (signal === 'SIGKILL') process.kill(pid, 'SIGKILL')
  await running
  await until(folders, (left) => left.length === 0)
  await expectNoProcesses(folder)
})
