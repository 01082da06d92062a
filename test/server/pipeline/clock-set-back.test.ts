/** @module-tag slow */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
  withStore,
} from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { bytes, type FileServer, failing, pngOf, startFileServer, status } from '../../helpers/file-server.ts'

const DAY = 24 * 3_600_000
const wallClock = Date.now

let dataDir: string
let backend: TestBackend
let files: FileServer

beforeAll(async () => {
  const late = (path: string) => [path, failing(1, status(503), bytes(pngOf(path)))] as const
  files = await startFileServer(Object.fromEntries(['/running.png', '/restarted.png'].map(late)))
  dataDir = await temporaryDataDir(whenFileDone)
  backend = await start()
})
afterEach(() => {
  vi.restoreAllMocks()
})
afterAll(async () => {
  await backend?.close()
  await files?.close()
})

const setBack = (days: number) => vi.spyOn(Date, 'now').mockImplementation(() => wallClock() - days * DAY)

// A backend captures the clock when it starts; this one follows the test's clock.
const start = () => startTestBackend(dataDir, { now: () => Date.now(), steadyNow: () => performance.now() })

/** Mints an NFT whose file host fails once; resolves when its retry is scheduled. */
async function mintUntilRetry(path: string) {
  const collection = await createTestCollection(backend)
  const metadata = { title: path, description: '', file_fields: [{ key: 'image', url: files.url + path }] }
  const [id = ''] = await mint(backend, collection, metadata)
  const attemptsOf = () =>
    withStore(dataDir, ({ db }) =>
      db.selectFrom('nfts').select('attempts').where('id', '=', id).executeTakeFirstOrThrow(),
    )
  expect((await until(attemptsOf, ({ attempts }) => attempts > 0)).attempts).toBe(1)
  return { collection, id }
}

it('retries a file and mints within seconds after the clock was set back by 30 days', async () => {
  const { collection, id } = await mintUntilRetry('/running.png')
  setBack(30)
  expect(await settled(backend, [id])).toMatchObject([{ status: 'deployed' }])
  expect(await settled(backend, await mint(backend, collection, plainMetadata(1)))).toMatchObject([{ token_id: '2' }])
})

it('retries a file and mints within seconds after the clock was set back while the backend was stopped', async () => {
  const { collection, id } = await mintUntilRetry('/restarted.png')
  await backend.close()
  setBack(60)
  backend = await start()
  expect(await settled(backend, [id])).toMatchObject([{ status: 'deployed' }])
  expect(await settled(backend, await mint(backend, collection, plainMetadata(1)))).toMatchObject([{ token_id: '2' }])
})
