/** @module-tag slow */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { walletsDirectory } from '../../../src/config/paths.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { KEYSTORE_EXTENSION } from '../../../src/wallet/folder.ts'
import { whenTestDone } from '../../helpers/clean-up.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { writeKeystore } from '../../helpers/keystore-file.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { folder } from '../batch/drop.ts'
import { collectionNode, withNewNetwork } from '../contract/scenarios.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli } from '../harness.ts'

test('an error in a file of faults names the guide to faults', async () => {
  const { path, options } = await folder({ 'faults.yaml': 'faults:\n  - fault: earthquake\n' })
  const { code, stderr } = await cli(['local', 'exec', '--faults', path('faults.yaml'), '--', 'true'], options)
  expect(code).toBe(2)
  expect(stderr).toContain('See docs/fault-injection.md for the faults')
  expect(stderr).not.toContain('gdn help environment')
})

test('hints of commands on a backend keep the flags that name it', async () => {
  const { argv, options } = await withNewNetwork(() => ['chain', 'verify', 'polygon'])
  const at = argv.slice(-2)
  const verified = await cli(argv, options)
  expect(verified.stderr).toContain(`gdn chain setup polygon ${at.join(' ')} --admin-keystore admin.json`)
  const { stdout } = await cli(['doctor', ...at, '--json'], options)
  const findings = JSON.parse(stdout) as { fix: string | null }[]
  expect(findings.map(({ fix }) => fix)).toContain(
    `Run \`gdn chain setup polygon --dry-run ${at.join(' ')}\` to show the cost of the setup. Then run it without --dry-run.`,
  )
})

test('collection set without a wallet names the one of this machine that owns the collection', async () => {
  const { options } = await folder()
  const key = generatePrivateKey()
  const set = async (owner: string) => {
    const url = await rpcStandIn(collectionNode(owner))
    return await cli(['collection', 'set', CONTRACT, '-b', 'polygon', '--royalty', '5%', '--rpc-url', url], options)
  }
  expect((await set(OWNER)).stderr).toContain('a keystore file')
  const wallets = walletsDirectory(options.env)
  await mkdir(wallets, { recursive: true, mode: 0o700 })
  await writeKeystore(join(wallets, `studio${KEYSTORE_EXTENSION}`), key)
  await chmod(join(wallets, `studio${KEYSTORE_EXTENSION}`), 0o600)
  const { code, stderr } = await set(privateKeyToAccount(key).address)
  expect(code).toBe(2)
  expect(stderr).toContain('Add --wallet @studio')
})

test('a wrong path in the URL of a node names the flag, what came back and what to check', async () => {
  const { options } = await folder()
  const server = await startHttpServer(({ path }) => ({
    status: path.startsWith('/a') ? 404 : 200,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    text: `<html>No page ${path}</html>`,
  }))
  whenTestDone(() => server.close())
  const { origin } = new URL(server.url)
  const show = async (path: string) =>
    await cli(['collection', 'show', CONTRACT, '-b', 'polygon', '--rpc-url', server.url + path], options)
  const { code, stderr } = await show('/a/0123456789abcdef')
  expect([code, stderr]).toEqual([6, expect.stringContaining(`--rpc-url: no chain responds at ${origin}: HTTP 404`)])
  expect(stderr).toContain(
    'HTTP 404 (text/html)\n  Check the URL, including its path. It must be the URL of a JSON-RPC node.',
  )
  expect(stderr).not.toMatch(/doctor|0123456789abcdef/)
  expect((await show('/b')).stderr).toContain('the response is not JSON-RPC (text/html)')
  const env = { ...options.env, GDN_RPC_URL: `${server.url}/a` }
  const holders = await cli(['collection', 'holders', CONTRACT, '-b', 'polygon'], { ...options, env })
  expect(holders.stderr).toContain(`error: GDN_RPC_URL: no chain responds at ${origin}: HTTP 404`)
  const set = ['collection', 'set', CONTRACT, '-b', 'polygon', '--royalty', '5%', '--dry-run', '--rpc-url']
  expect((await cli([...set, `${server.url}/a`], options)).stderr).toContain('error: --rpc-url: the node at')
})

test('collection set without a server names the address, the blockchain or the node that is missing', async () => {
  const { options } = await folder()
  const url = 'http://127.0.0.1:9'
  const set = async (...argv: string[]) =>
    (await cli(['collection', 'set', '--royalty', '5%', ...argv], options)).stderr
  expect(await set()).toContain('error: <address>: no collection is specified')
  expect(await set(CONTRACT)).toContain('Add -b <blockchain> and --rpc-url <url>')
  expect(await set(CONTRACT, '-b', 'polygon')).toContain('error: no node is specified')
  expect(await set(CONTRACT, '--rpc-url', url)).toContain('error: --blockchain: is required')
})

test('a collection refused for its owner says which wallets a service accepts', async () => {
  const { options } = await folder()
  const error = { title: 'Request Validation Error', message: 'wallet_address is not of this account' }
  const { url } = await fakeApi({ createcollection: () => ({ status: 422, body: { error } }) })
  const argv = ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER, '--base-url', url]
  const { code, stderr } = await cli(argv, options)
  expect(code).toBe(5)
  expect(stderr).toContain('wallet_address is not of this account')
  expect(stderr).toContain(`gdn wallet generate --base-url ${url} --name <name>`)
})

test('chain setup without the settings of a network names --data-dir before the settings to add', async () => {
  const { options } = await folder()
  for (const [name, keys] of [
    ['base', 'operators'],
    ['solana', 'signer'],
  ]) {
    const { code, stderr } = await cli(['chain', 'setup', name ?? '', '--dry-run'], options)
    expect(code).toBe(2)
    expect(stderr).toMatch(
      new RegExp(`specify that directory with --data-dir[^]*\\n.*add ${name} with rpc_urls and ${keys} below`),
    )
  }
})

test.each(['polygon', 'solana'])(
  'chain status of %s explains that the backend has it as an embedded chain',
  async (name) => {
    const { path, options } = await folder()
    await mkdir(path('data'))
    const argv = ['chain', 'status', name, '--data-dir', path('data')]
    expect((await cli(argv, options)).stderr).toContain('has no RPC URL')
    await (await openStore(join(path('data'), 'gdn.db'))).close()
    const { code, stdout, stderr } = await cli(argv, options)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain(`${name} is an embedded chain of the backend in ${path('data')}.`)
    expect(stderr).toContain('The backend is not running')
    expect((await cli([...argv, '--json'], options)).stdout).toBe('[]\n')
  },
)

test('chain status of a network without a factory names the command of its setup', async () => {
  const { argv, options } = await withNewNetwork(() => ['chain', 'status', 'polygon'])
  const { stdout } = await cli([...argv, '--json'], options)
  expect(JSON.parse(stdout)[0].problem).toBe(
    `its factory is not deployed: run \`gdn chain setup polygon ${argv.slice(-2).join(' ')} --admin-keystore admin.json\``,
  )
})

test('chain setup says which file is no keystore, and which has no password of it', async () => {
  const { argv, options } = await withNewNetwork((path) => ['chain', 'setup', 'polygon', '--dry-run', path('data')])
  const data = argv.splice(4, 1)[0] ?? ''
  const setup = async (keystore: string, password: string) =>
    (await cli([...argv, '--admin-keystore', keystore, '--password-file', password], options)).stderr
  const [yaml, wrong] = [join(data, 'some.yaml'), join(data, 'wrong.password')]
  await writeFile(yaml, 'chains:\n', { mode: 0o600 })
  await writeFile(wrong, 'not the password\n', { mode: 0o600 })
  expect(await setup(yaml, wrong)).toMatch(
    /some\.yaml:1:1: is not a keystore: has "c" where a value is expected\n.*gdn wallet export/,
  )
  expect(await setup(join(data, '..', 'admin.json'), wrong)).toContain(
    `Check that ${wrong} has the password of this keystore.`,
  )
})
