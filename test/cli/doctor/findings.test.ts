/** @module-tag slow */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { expect, test, vi } from 'vitest'
import { VERSION } from '../../../src/cli/version.ts'
import { walletsDirectory } from '../../../src/config/paths.ts'
import { makeWalletFolder } from '../../../src/wallet/folder.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'
import type { Finding } from './finding.ts'

// Keystores with the default cost would take seconds here.
vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

async function findings(check: string, options: CliOptions, ...flags: string[]): Promise<Finding[]> {
  const { stdout } = await cli(['doctor', '--json', ...flags], options)
  return (JSON.parse(stdout) as Finding[]).filter((one) => one.check === check)
}

test('doctor names runs that share a name, and not the drops of one run', async () => {
  const { path, options } = await folder({ 'jan/drop.csv': CSV, 'feb/drop.csv': CSV.replaceAll('D', 'T') })
  const { url } = await fakeApi({ ...service() })
  const mint = async (file: string, ...more: string[]) =>
    await cli(['batch', 'mint', path(file), ...TARGET, '--no-lookup', '--base-url', url, ...more], options)
  expect((await mint('jan/drop.csv')).code).toBe(0)
  expect((await mint('jan/drop.csv', '--again')).code).toBe(0)
  expect(await findings('runs', options)).toMatchObject([{ status: 'ok' }])
  expect((await mint('feb/drop.csv')).code).toBe(0)
  const [found] = await findings('runs', options)
  expect(found).toMatchObject({
    status: 'warn',
    message: expect.stringMatching(/^2 runs have a manifest named drop\.csv: /),
  })
  expect(found?.message).toContain(path('jan/drop.csv'))
  expect(found?.message).toContain(path('feb/drop.csv'))
  expect(found?.fix).toContain('or by the path of its manifest')

  await writeFile(path('jan/other.csv'), CSV.replaceAll('D', 'P'))
  await writeFile(path('feb/other.csv'), CSV.replaceAll('D', 'Q'))
  for (const file of ['jan/other.csv', 'feb/other.csv']) expect((await mint(file)).code).toBe(0)
  expect(await findings('runs', options)).toMatchObject([
    {
      status: 'warn',
      message: expect.stringMatching(
        /^several runs have the same manifest name: \w+\.csv \(2 runs\), \w+\.csv \(2 runs\)$/,
      ),
    },
  ])
})

test('doctor names wallets whose keys were exported, and warns of unencrypted ones', async () => {
  const { path, options } = await folder()
  const wallets = walletsDirectory(options.env)
  makeWalletFolder(wallets)
  await writeKeystore(join(wallets, 'alice.json'), generatePrivateKey())
  await writePassword(path('password'))
  const exporting = ['wallet', 'export', 'alice', '--password-file', path('password'), '--to']
  expect(await findings('wallets', options)).toEqual([])
  expect((await cli([...exporting, path('copy.json')], options)).code).toBe(0)
  expect(await findings('wallets', options)).toMatchObject([
    {
      status: 'ok',
      message: expect.stringContaining(`the encrypted keystore of @alice was copied to ${path('copy.json')}`),
    },
  ])
  expect((await cli([...exporting, path('alice.key'), '--format', 'private-key'], options)).code).toBe(0)
  const there = await findings('wallets', options)
  expect(there).toMatchObject([
    { status: 'warn', message: expect.stringMatching(/unencrypted private key of @alice .*, and the file is still/) },
  ])
  await rm(path('alice.key'))
  expect((await cli([...exporting, path('other.json')], options)).code).toBe(0)
  const [after] = await findings('wallets', options)
  expect(after).toMatchObject({
    status: 'warn',
    message: expect.stringMatching(/unencrypted private key of @alice .* on \d{4}-\d\d-\d\d$/),
  })
  for (const name of ['one.key', 'two.key']) {
    expect((await cli([...exporting, path(name), '--format', 'private-key'], options)).code).toBe(0)
  }
  expect((await cli([...exporting, '-', '--format', 'private-key'], options)).code).toBe(0)
  const three = (await findings('wallets', options)).map(({ message }) => message)
  expect(three).toEqual([
    expect.stringContaining(`to ${path('one.key')}`),
    expect.stringContaining(`to ${path('two.key')}`),
    expect.stringContaining('to standard output'),
  ])
  // The record is no wallet.
  expect((await cli(['wallet', 'list', '-o', 'ids'], options)).stdout.trim().split('\n')).toHaveLength(1)
})

test('doctor warns of a gdn backend of another version, and says nothing of other servers', async () => {
  const { options } = await folder()
  const versionOf = async (health: object) => {
    const { url } = await fakeApi({ '*': (_body, { path }) => reply(path, health) })
    return (await findings('server', options, '--base-url', url)).filter(({ status }) => status === 'warn')
  }
  expect(await versionOf({ version: '0.0.1', backend_id: 'a' })).toMatchObject([
    { message: expect.stringContaining(`runs gdn 0.0.1, but this machine runs gdn ${VERSION}`) },
  ])
  expect(await versionOf({ version: VERSION, backend_id: 'a' })).toEqual([])
  expect(await versionOf({ version: '7' })).toEqual([])
})

const reply = (path: string, health: object) =>
  path === '/healthz' ? { body: health } : { status: 403, body: { error: { title: 'x', message: 'y' } } }
