import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findRunningBackend, isDataDirectory, readLocalApiKey } from '../../src/config/local-backend.ts'
import { fileIdentity } from '../../src/core/file-identity.ts'
import { ownIdentity } from '../../src/core/process-identity.ts'
import { makeHome } from './home.ts'

const URL = 'http://127.0.0.1:4680'

async function dataDirectory() {
  const { dir } = await makeHome()
  const path = join(dir, 'data')
  await mkdir(path)
  const record = (value: object) => writeFile(join(path, 'backend.json'), JSON.stringify(value))
  return { path, record }
}

const myself = async (folder: string) => {
  const { pid, startedAt, bootId } = await ownIdentity()
  return {
    url: URL,
    pid,
    process_started: startedAt,
    boot_id: bootId,
    folder: await fileIdentity(folder),
    version: '0.1.0',
  }
}

test('a backend is running as long as the recorded process is', async () => {
  const { path, record } = await dataDirectory()
  expect(await findRunningBackend(path)).toBeNull()
  await record(await myself(path))
  expect(await findRunningBackend(path)).toEqual({ url: URL, pid: process.pid, version: '0.1.0' })
})

test.each([
  ['of a process that ended', { pid: 2 ** 22 - 1 }],
  ['of an earlier process with this pid', { process_started: '1' }],
  ['of another boot', { boot_id: 'another' }],
  ['copied from another folder', { folder: '1' }],
  ['without a folder', { folder: undefined }],
  ['without a version', { version: undefined }],
  ['without an address', { url: undefined }],
  ['with an invalid address', { url: 'x' }],
])('rejects a record %s', async (_what, changes) => {
  const { path, record } = await dataDirectory()
  await record({ ...(await myself(path)), ...changes })
  expect(await findRunningBackend(path)).toBeNull()
})

test('accepts only a directory that a backend made as a data directory', async () => {
  const { path } = await dataDirectory()
  expect(await isDataDirectory(path)).toBe(false)
  await writeFile(join(path, 'lock.db'), '')
  expect(await isDataDirectory(path)).toBe(true)
})

test('rejects a key file that others can read, with the command to fix it', async () => {
  const { path } = await dataDirectory()
  const file = join(path, 'api-key')
  await writeFile(file, 'gdn_key\n', { mode: 0o600 })
  expect((await readLocalApiKey(path)).reveal()).toBe('gdn_key')
  await chmod(file, 0o640)
  await expect(readLocalApiKey(path)).rejects.toMatchObject({
    code: 'unauthorized',
    hint: `Run \`chmod 600 '${file}'\`.`,
  })
})

test.each([['a b'], [''], ['a\nb'], ['k'.repeat(5000)]])('rejects %j as an API key', async (text) => {
  const { path } = await dataDirectory()
  await writeFile(join(path, 'api-key'), text, { mode: 0o600 })
  await expect(readLocalApiKey(path)).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a missing key of the running local backend is reported with the flag that reads its key', async () => {
  const home = await makeHome()
  const record = await home.write('.local/share/gdn/local/backend.json', '')
  await writeFile(record, JSON.stringify(await myself(dirname(record))))
  const hintOf = async (baseUrl: string) => {
    const settings = await home.settings({ baseUrl })
    return await settings.apiKey(await settings.server()).then(String, ({ hint }) => hint)
  }
  expect(await hintOf(URL)).toBe('This is the local backend. Use --local in place of --base-url.')
  expect(await hintOf('http://127.0.0.1:4681')).toMatch(/^Set GDN_API_KEY, or run `gdn auth login/)
})
