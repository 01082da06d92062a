import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isDataDirectory, localApiKey, markServing, runningBackend } from '../../src/config/local-backend.ts'
import { makeHome } from './home.ts'

const URL = 'http://127.0.0.1:4680'

async function dataDirectory() {
  const { dir } = await makeHome()
  const path = join(dir, 'data')
  await mkdir(path)
  const record = (value: object) => writeFile(join(path, 'backend.json'), JSON.stringify(value))
  return { path, record }
}

test('a backend is running while its process holds the mark, and where its record says', async () => {
  const { path, record } = await dataDirectory()
  expect(await runningBackend(path)).toBeNull()
  const release = await markServing(path, URL)
  await record({ url: URL, pid: process.pid, started_at: 1 })
  expect(await runningBackend(path)).toEqual({ url: URL, pid: process.pid })
  await release()
  expect(await runningBackend(path)).toBeNull()
})

test.each([
  ['of another process', { url: URL, pid: 1 }],
  ['without an address', { pid: process.pid }],
  ['whose address is none', { url: 'x', pid: process.pid }],
])('a record %s is not believed', async (_what, value) => {
  const { path, record } = await dataDirectory()
  const release = await markServing(path, URL)
  await record(value)
  expect(await runningBackend(path)).toBeNull()
  await release()
})

test('only what a backend made is a data directory', async () => {
  const { path } = await dataDirectory()
  expect(await isDataDirectory(path)).toBe(false)
  const release = await markServing(path, URL)
  await release()
  expect(await isDataDirectory(path)).toBe(true)
})

test('a key file that others may read is refused with the command that closes it', async () => {
  const { path } = await dataDirectory()
  const file = join(path, 'api-key')
  await writeFile(file, 'gdn_key\n', { mode: 0o600 })
  expect((await localApiKey(path)).reveal()).toBe('gdn_key')
  await chmod(file, 0o640)
  await expect(localApiKey(path)).rejects.toMatchObject({ code: 'unauthorized', hint: `chmod 600 '${file}'` })
})

test.each([['a b'], [''], ['a\nb'], ['k'.repeat(5000)]])('%j is no API key', async (text) => {
  const { path } = await dataDirectory()
  await writeFile(join(path, 'api-key'), text, { mode: 0o600 })
  await expect(localApiKey(path)).rejects.toMatchObject({ code: 'unauthorized' })
})
