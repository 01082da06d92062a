import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER } from './fake-api.ts'
import { cli, errorOf, tempHome } from './harness.ts'

vi.mock('../../src/sqlite/driver.ts', () => ({
  openSqlite() {
    throw new GdnError('native_missing', 'this Node.js has no built-in SQLite', {
      hint: 'Use Node.js 22.16 or newer, or install the optional package: `npm install libsql@0.5`.',
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
