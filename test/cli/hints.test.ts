import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { walletsDirectory } from '../../src/config/paths.ts'
import { KEYSTORE_ENDING } from '../../src/wallet/folder.ts'
import { writeKeystore } from '../helpers/keystore-file.ts'
import { rpcStandIn } from '../helpers/rpc-stand-in.ts'
import { collectionNode, withNewNetwork } from './contract/scenarios.ts'
import { folder } from './drop.ts'
import { CONTRACT, fakeApi, OWNER } from './fake-api.ts'
import { cli } from './harness.ts'

test('an error in a file of faults names the guide to faults', async () => {
  const { path, options } = await folder({ 'faults.yaml': 'faults:\n  - fault: earthquake\n' })
  const { code, stderr } = await cli(['local', 'exec', '--faults', path('faults.yaml'), '--', 'true'], options)
  expect(code).toBe(2)
  expect(stderr).toContain('docs/fault-injection.md lists the faults')
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
    `Run \`gdn chain setup polygon --dry-run ${at.join(' ')}\` to show what that costs.`,
  )
})

test('collection set without a wallet names the one of this machine that owns the collection', async () => {
  const { options } = await folder()
  const key = generatePrivateKey()
  const set = async (owner: string) => {
    const url = await rpcStandIn(collectionNode(owner))
    return await cli(['collection', 'set', CONTRACT, '-b', 'polygon', '--royalty', '5%', '--rpc-url', url], options)
  }
  expect((await set(OWNER)).stderr).toContain('Name its keystore')
  const wallets = walletsDirectory(options.env)
  await mkdir(wallets, { recursive: true, mode: 0o700 })
  await writeKeystore(join(wallets, `studio${KEYSTORE_ENDING}`), key)
  await chmod(join(wallets, `studio${KEYSTORE_ENDING}`), 0o600)
  const { code, stderr } = await set(privateKeyToAccount(key).address)
  expect(code).toBe(2)
  expect(stderr).toContain('Add --wallet @studio')
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
