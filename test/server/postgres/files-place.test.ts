import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { freshDataDir, startTestBackend, type TestBackend, until } from '../../helpers/backend.ts'
import { S3_KEYS, startS3 } from '../../helpers/s3-stand-in.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// Large files are in the data dir unless the configuration has a storage that all processes can reach.

const LARGE = 100_000
const SMALL = 1000

let folders: { path: string; remove: () => Promise<void> }[]
let database: { url: Secret }
const backends: TestBackend[] = []

beforeEach(async () => {
  folders = [await freshDataDir(), await freshDataDir()]
  database = { url: new Secret((await databaseUrlOf(at(0))) ?? '') }
})
afterEach(async () => {
  for (const backend of backends.splice(0)) await backend.close()
  for (const { remove } of folders) await remove()
})

const at = (index: number) => folders[index]?.path ?? ''
async function start(folder: string): Promise<TestBackend> {
  const backend = await startTestBackend(folder, { role: 'api', database })
  backends.push(backend)
  return backend
}

async function upload(backend: TestBackend, size: number) {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(size).fill(size % 251)]), 'a.bin')
  const headers = { 'x-api-key': backend.apiKey.reveal() }
  const response = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body: form })
  return { status: response.status, body: (await response.json()) as { url?: string; error?: { message: string } } }
}

test('processes with separate data dirs share small files through the database', async () => {
  const [one, other] = [await start(at(0)), await start(at(1))]
  const { body } = await upload(one, SMALL)
  expect((await other.get(`/ipfs/${body.url?.slice('ipfs://'.length)}`)).status).toBe(200)
})

test('once a process has a large file, one with another data dir stores none, is not ready and cannot restart', async () => {
  const [one, other] = [await start(at(0)), await start(at(1))]
  expect((await upload(one, LARGE)).status).toBe(200)
  const refused = await upload(other, LARGE + 1)
  expect(refused.status).toBe(503)
  expect(await (await other.get('/readyz')).json()).toMatchObject({
    ready: false,
    problems: [expect.stringContaining(`files of this database are in the data directory ${at(0)}`)],
  })
  await expect(start(at(1))).rejects.toMatchObject({
    code: 'invalid_config',
    message: expect.stringMatching(/but this process would store its files in/),
    hint: expect.stringContaining('kind: s3'),
  })
  const again = await start(at(0))
  expect(
    (
      await until(
        async () => await again.get('/readyz'),
        ({ status }) => status === 200,
      )
    ).status,
  ).toBe(200)
})

test('a files folder is recognized at any mount point, also with files stored before the move to PostgreSQL', async () => {
  await mkdir(join(at(1), 'files', 'xy'), { recursive: true, mode: 0o700 })
  await writeFile(join(at(1), 'files', 'xy', 'bafy'), 'a file')
  await (await start(at(1))).close()
  await expect(start(at(0))).rejects.toThrow(`are in the data directory ${at(1)}`)
  const mounted = `${at(1)}-elsewhere`
  await rename(at(1), mounted)
  await (await start(mounted)).close()
  await rename(mounted, at(1))
})

test('with a bucket configured, files move from the data dir to it, and processes without that folder serve them', async () => {
  const one = await start(at(0))
  const { body } = await upload(one, LARGE)
  await one.close()
  const s3 = await startS3(['art'])
  const settings = {
    keys: `[default]\naws_access_key_id = ${S3_KEYS.accessKeyId}\naws_secret_access_key = ${S3_KEYS.secret}\n`,
    'backend.yaml': `storage: { kind: s3, bucket: art, prefix: drops, endpoint: "${s3.url}", credentials_file: keys }\n`,
  }
  for (const index of [0, 1]) {
    for (const [name, text] of Object.entries(settings)) {
      await writeFile(join(at(index), name), text)
      await chmod(join(at(index), name), 0o600)
    }
  }
  const cid = body.url?.slice('ipfs://'.length) ?? ''
  const holder = await startTestBackend(at(0), { database })
  backends.push(holder)
  const there = async () => s3.objects.get(`art/drops/${cid}`)?.body.length
  expect(await until(there, (size) => size !== undefined)).toBe(LARGE)
  const puts = () => s3.seen.filter((line) => line.startsWith('PUT') && line.includes(cid)).length
  expect(puts()).toBe(1)
  // It is uploaded once, even if another process starts on that folder.
  const again = await startTestBackend(at(0), { database })
  backends.push(again)
  await upload(again, LARGE + 1)
  expect(puts()).toBe(1)
  await rm(join(at(0), 'files'), { recursive: true })
  const other = await start(at(1))
  const served = await other.get(`/ipfs/${cid}`)
  expect((await served.arrayBuffer()).byteLength).toBe(LARGE)
  await s3.close()
})
