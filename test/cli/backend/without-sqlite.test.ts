/** @module-tag slow */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { walletService } from '../../helpers/wallet-service.ts'
import { LIGHT } from '../../keystore/vectors.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

vi.mock('../../../src/sqlite/driver.ts', () => ({
  openSqlite() {
    throw new GdnError('native_missing', 'this Node.js has no built-in SQLite', {
      hint: 'Use Node.js 22.16 or newer, or install the optional package: `npm install --include=optional libsql@0.5`.',
    })
  },
}))

async function machine() {
  const { dir, env } = await tempHome()
  return { dir, env: { ...env, GDN_API_KEY: 'key' } }
}

test.each([
  ['nft mint', ['nft', 'mint', '-c', CONTRACT, '-b', 'polygon', '--receiver', OWNER, '--title', 'Dawn']],
  ['batch mint', ['batch', 'mint', 'drop.csv', '-c', CONTRACT, '-b', 'polygon']],
  ['collection create', ['collection', 'create', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER]],
])('without SQLite, %s fails with a hint, and sends nothing', async (_what, argv) => {
  const api = await fakeApi({})
  const { dir, env } = await machine()
  await writeFile(join(dir, 'drop.csv'), `title,description,receiver\nDawn,of a drop,${OWNER}\n`)
  const here = argv.map((one) => (one === 'drop.csv' ? join(dir, one) : one))
  const result = await cli([...here, '--base-url', api.url, '--json'], { env })
  expect(result).toMatchObject({ code: 1, stdout: '' })
  expect(errorOf(result)).toMatchObject({ code: 'native_missing', hint: expect.stringContaining('Node.js 22.16') })
  expect(api.calls.filter(({ path }) => path.includes('create'))).toEqual([])
})

test('without SQLite, reads work beside state from another Node.js', async () => {
  const api = await fakeApi({ getnfts: knows(nft('id-1')) })
  const { dir, env } = await machine()
  await mkdir(join(dir, '.local/state/gdn'), { recursive: true })
  await writeFile(join(dir, '.local/state/gdn/state.db'), '')
  expect((await cli(['nft', 'show', 'id-1', '--base-url', api.url, '-o', 'ids'], { env })).stdout).toBe('id-1\n')
  const listed = await cli(['nft', 'list', '--base-url', api.url, '--json'], { env })
  expect(errorOf(listed)).toMatchObject({ code: 'native_missing' })
})

test('without SQLite, reads work, and create nothing in the state directory', async () => {
  const api = await fakeApi({ getnfts: knows(nft('id-1')) })
  const { dir, env } = await machine()
  expect((await cli(['nft', 'show', 'id-1', '--base-url', api.url, '-o', 'ids'], { env })).stdout).toBe('id-1\n')
  expect((await cli(['batch', 'list', '--all', '--json'], { env })).stdout).toBe('[]\n')
  expect(existsSync(join(dir, '.local/state/gdn/state.db'))).toBe(false)
})

describe('without SQLite, beside saved addresses of another Node.js', () => {
  /** With the keystore @alice. */
  async function withWallet() {
    const { dir, env } = await machine()
    const wallets = join(dir, '.local/share/gdn/wallets')
    await mkdir(wallets, { recursive: true, mode: 0o700 })
    await writeFile(join(wallets, 'alice.json'), JSON.stringify({ ...LIGHT.json, address: LIGHT.address }), {
      mode: 0o600,
    })
    await mkdir(join(dir, '.local/state/gdn'), { recursive: true })
    await writeFile(join(dir, '.local/state/gdn/state.db'), '')
    const gdn = (...argv: string[]) => cli(argv, { env, cwd: dir })
    const mint = ['nft', 'mint', '-c', CONTRACT, '-b', 'polygon', '--title', 'Dawn', '--base-url', 'http://127.0.0.1:9']
    return { dir, gdn, to: (name: string) => gdn(...mint, '--receiver', name, '--dry-run', '--json') }
  }

  test('names of keystores resolve, and other names fail with a hint', async () => {
    const { to } = await withWallet()
    expect(JSON.parse((await to('@alice')).stdout).body.receiver_wallet_address.toLowerCase()).toBe(LIGHT.address)
    const result = await to('@bob')
    expect(result.code).toBe(1)
    expect(errorOf(result)).toMatchObject({
      code: 'native_missing',
      message: "--receiver: @bob can't be looked up: this Node.js has no built-in SQLite",
      hint: expect.stringContaining('Node.js 22.16'),
    })
  })

  test('gdn wallet list shows keystores, and a warning', async () => {
    const { gdn } = await withWallet()
    const { code, stdout, stderr } = await gdn('wallet', 'list')
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('@alice'),
      stderr: expect.stringContaining('Saved addresses are not shown: this Node.js has no built-in SQLite'),
    })
  })

  test('gdn wallet generate works', async () => {
    const { dir, gdn } = await withWallet()
    const { url } = await walletService()
    await writeFile(join(dir, 'pw'), 'correct horse\n', { mode: 0o600 })
    const argv = [
      'wallet',
      'generate',
      '--base-url',
      url,
      '--email',
      'me@example.com',
      '--password-file',
      join(dir, 'pw'),
    ]
    const { code, stdout, stderr } = await gdn(...argv, '--name', 'carol', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).name).toBe('carol')
  })

  test.each([
    ['add', ['bob', OWNER]],
    ['rm', ['bob']],
  ])('gdn wallet %s fails with a hint', async (verb, argv) => {
    const { gdn } = await withWallet()
    expect(errorOf(await gdn('wallet', verb, ...argv, '--json'))).toMatchObject({ code: 'native_missing' })
  })

  test('a manifest without names of saved addresses is valid', async () => {
    const { dir, gdn } = await withWallet()
    await writeFile(join(dir, 'drop.csv'), `title,description,receiver\nDawn,of a drop,${OWNER}\nDusk,x,@alice\n`)
    expect((await gdn('batch', 'validate', join(dir, 'drop.csv'), '-c', CONTRACT, '-b', 'polygon')).code).toBe(0)
  })
})
