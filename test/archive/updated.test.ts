/** @module-tag slow */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, errorOf, tempHome } from '../cli/harness.ts'
import { freshDataDir, startTestBackend, type TestBackend } from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { dynamicNfts, ended, update } from '../helpers/updates.ts'

async function backendAt(path: string): Promise<TestBackend> {
  const backend = await startTestBackend(path)
  whenTestDone(() => backend.close())
  return backend
}

async function dataDir(): Promise<string> {
  const { path, remove } = await freshDataDir()
  whenTestDone(remove)
  return path
}

test('archives the metadata that an updated NFT was minted with, so that a restored backend verifies it', async () => {
  const backend = await backendAt(await dataDir())
  const { collection, ids, nfts } = await dynamicNfts(backend, ['Dawn', 'Noon', 'Dusk'])
  await ended(backend, await update(backend, collection, String(ids[1]), 'Night'))
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const own = { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() }
  const argv = ['collection', 'archive', collection.address, '-b', 'polygon', '--json', '--to']
  const archived = await cli([...argv, file], { env: own })
  expect(archived.code, archived.stderr).toBe(0)
  const earlier = String(JSON.parse(archived.stdout).block_number - 1)
  expect(errorOf(await cli([...argv, `${file}.old`, '--block', earlier], { env: own }))).toMatchObject({
    message: '--block: an embedded chain keeps only the state of its newest block',
    hint: 'Omit --block.',
  })

  const token = `${collection.address}/${nfts[1]?.token_id}`
  const verifyAt = (gateway: string) =>
    cli(['nft', 'verify', token, '-b', 'polygon', '--rpc-url', `${backend.url}/rpc/polygon`, '--gateway', gateway], {
      env,
    })
  const restoredDir = await dataDir()
  const empty = await verifyAt((await backendAt(await dataDir())).url)
  expect([empty.code, empty.stderr]).toEqual([6, expect.stringContaining('is not available at http')])
  expect((await cli(['collection', 'restore', file, '--data-dir', restoredDir], { env })).code).toBe(0)
  const restored = await verifyAt((await backendAt(restoredDir)).url)
  expect(restored.code, restored.stderr).toBe(0)
})

test('a check after an update does not say that the archive lacks the original metadata', async () => {
  const backend = await backendAt(await dataDir())
  const { collection, ids, nfts } = await dynamicNfts(backend, ['Dawn', 'Noon'])
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const own = { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() }
  const on = [collection.address, '-b', 'polygon', '--json']
  expect((await cli(['collection', 'archive', ...on, '--to', file], { env: own })).code).toBe(0)
  await ended(backend, await update(backend, collection, String(ids[1]), 'Night'))
  const { code, stdout } = await cli(['collection', 'check', ...on, '--archive', file], { env: own })
  expect(code).toBe(7)
  const found = JSON.parse(stdout) as { token_id: string; field: string | null; error: string }[]
  expect(found.map(({ token_id, field, error }) => [token_id, field, error.split(' ipfs:')[0]])).toEqual([
    [nfts[1]?.token_id, null, 'the token URI was'],
    [nfts[1]?.token_id, 'metadata', 'the URL was'],
  ])
})
