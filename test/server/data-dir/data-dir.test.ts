/** @module-tag slow */
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findRunningBackend } from '../../../src/config/local-backend.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { VERSION } from '../../../src/core/version.ts'
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
import { failedChild, startedChild } from '../../helpers/backend-child.ts'
import { copyFolder } from '../../helpers/backups.ts'

let dir: string
let backend: TestBackend | undefined

beforeEach(async () => {
  dir = await temporaryDataDir()
})
afterEach(async () => {
  await backend?.close()
  backend = undefined
  await chmod(dir, 0o700)
})

const start = async (path = dir, options = {}) => {
  backend = await startTestBackend(path, options)
  return backend
}

/** The error that a backend fails to start with. */
async function refusal(path = dir, options = {}): Promise<GdnError> {
  const error = await start(path, options).then(
    () => new Error('it started'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof GdnError)) throw error
  return error
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o777

async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

describe('a data dir', () => {
  it('is created with its parent directories, and only its owner can access it', async () => {
    const path = join(dir, 'a b', 'é🌅', 'gdn')
    await start(path)
    expect(await modeOf(path)).toBe(0o700)
    expect(backend?.dataDir).toBe(path)
  })

  it('loses the permissions of other users at the start', async () => {
    await chmod(dir, 0o755)
    await start()
    expect(await modeOf(dir)).toBe(0o700)
  })

  it('keeps its secrets in files of mode 0600', async () => {
    await start()
    for (const name of ['api-key', 'signers.json', 'backend.json']) {
      expect([name, await modeOf(join(dir, name))]).toEqual([name, 0o600])
    }
  })

  it.each(['api-key', 'signers.json'])(
    'is rejected with the command to run if its %s is readable by others',
    async (name) => {
      await (await start()).close()
      backend = undefined
      const path = join(dir, name)
      await chmod(path, 0o644)
      const error = await refusal()
      expect(error).toMatchObject({ code: 'data_dir', hint: `Run \`chmod 600 ${path}\`.`, place: { file: path } })
      await chmod(path, 0o600)
      await start()
    },
  )

  it('keeps its API key at every start, and adds one if the file was removed: both work', async () => {
    const first = (await start()).apiKey.reveal()
    await backend?.close()
    expect((await start()).apiKey.reveal()).toBe(first)
    await backend?.close()
    await rm(join(dir, 'api-key'))
    const second = (await start()).apiKey.reveal()
    expect(second).not.toBe(first)
    for (const key of [first, second]) {
      const { status } = await (backend as TestBackend).post(
        '/api/v1/getnfts',
        { nft_gdn_ids: ['x'] },
        { 'x-api-key': key },
      )
      expect(status).toBe(200)
    }
  })

  it('replaces an api-key file that a crash left empty', async () => {
    await writeFile(join(dir, 'api-key'), '', { mode: 0o600 })
    const { apiKey } = await start()
    expect(apiKey.reveal()).toMatch(/^gdn_[\w-]{43}$/)
    expect((await readFile(join(dir, 'api-key'), 'utf8')).trim()).toBe(apiKey.reveal())
    expect(await modeOf(join(dir, 'api-key'))).toBe(0o600)
  })

  it('never replaces damaged signing keys, which the chains need', async () => {
    await (await start()).close()
    backend = undefined
    await writeFile(join(dir, 'signers.json'), '{"version":1', { mode: 0o600 })
    expect(await refusal()).toMatchObject({ code: 'data_dir', message: expect.stringContaining('signers.json') })
    expect(await readFile(join(dir, 'signers.json'), 'utf8')).toBe('{"version":1')
  })

  it('contains the API key only in its file, not in the database or the log', async () => {
    const { apiKey, log } = await start()
    const collection = await createTestCollection(backend as TestBackend)
    await settled(backend as TestBackend, await mint(backend as TestBackend, collection, plainMetadata(1)))
    const key = apiKey.reveal()
    const holding = []
    for (const path of await filesBelow(dir)) if ((await readFile(path)).includes(key)) holding.push(path)
    expect(holding).toEqual([join(dir, 'api-key')])
    expect(log.join('')).not.toContain(key)
    const signers = await readFile(join(dir, 'signers.json'), 'utf8')
    for (const [secret = ''] of signers.matchAll(/[0-9a-f]{64}/g)) expect(log.join('')).not.toContain(secret)
  })

  it('names its running backend, and only while it runs', async () => {
    const { url } = await start()
    const running = JSON.parse(await readFile(join(dir, 'backend.json'), 'utf8'))
    expect(running).toMatchObject({ pid: process.pid, url, version: VERSION })
    expect(Object.keys(running).sort()).toEqual([
      'boot_id',
      'folder',
      'options',
      'pid',
      'process_started',
      'url',
      'version',
    ])
    await backend?.close()
    backend = undefined
    expect(await readdir(dir)).not.toContain('backend.json')
  })
})

describe('a copy of a data dir', () => {
  const identityOf = async (path: string) => {
    const one = await start(path)
    const body = (await (await one.get('/healthz')).json()) as Record<string, string>
    await one.close()
    backend = undefined
    return { id: body.backend_id, incarnation: body.incarnation }
  }

  it('has the same backend ID and a new incarnation, and the original keeps its own', async () => {
    const [original, copy] = [join(dir, 'original'), join(dir, 'copy')]
    const before = await identityOf(original)
    await copyFolder(original, copy)
    const copied = await identityOf(copy)
    expect(copied.id).toBe(before.id)
    expect(copied.incarnation).not.toBe(before.incarnation)
    expect([await identityOf(copy), await identityOf(original)]).toEqual([copied, before])
  })

  it('has a new incarnation in place of the original, while a renamed data dir keeps its own', async () => {
    const [original, backup] = [join(dir, 'original'), join(dir, 'backup')]
    const before = await identityOf(original)
    await copyFolder(original, backup)
    await rename(original, join(dir, 'renamed'))
    expect(await identityOf(join(dir, 'renamed'))).toEqual(before)
    await rename(backup, original)
    expect((await identityOf(original)).incarnation).not.toBe(before.incarnation)
  })

  it("doesn't count as running if it was made while the backend ran", async () => {
    const [original, copy] = [join(dir, 'original'), join(dir, 'copy')]
    const { url } = await start(original)
    await copyFolder(original, copy)
    expect(await findRunningBackend(original)).toMatchObject({ url })
    expect(await findRunningBackend(copy)).toBeNull()
  })
})

describe('an unusable data dir', () => {
  it('is reported if it is a file', async () => {
    const path = join(dir, 'file')
    await writeFile(path, 'x')
    const error = await refusal(path)
    expect(error.code).toBe('data_dir')
    expect(error.message).toContain(path)
    expect(error.hint).toMatch(/Choose a directory with --data-dir: the path is a file/)
    expect(await readFile(path, 'utf8')).toBe('x')
  })

  it('is reported if a part of the path is a file', async () => {
    await writeFile(join(dir, 'file'), 'x')
    const error = await refusal(join(dir, 'file', 'below'))
    expect(error).toMatchObject({ code: 'data_dir', hint: expect.stringMatching(/part of the path is a file/) })
  })

  it('is reported if its database is another kind of file', async () => {
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'gdn.db'), 'this is no database, but it is long enough to have a header '.repeat(100))
    const error = await refusal()
    expect(error.code).toBe('data_dir')
    expect(error.message).toContain('gdn.db')
  })

  it.each([
    ['write to', 0o555],
    ['enter', 0o000],
  ])("is reported if the user can't %s it", async (_, mode) => {
    await chmod(dir, mode)
    // Root may write anywhere, so the child of root continues as another user.
    const error = await failedChild(dir, process.getuid?.() === 0 ? { uid: 65534 } : {})
    expect(error.code).toBe('data_dir')
    expect(error.message).toContain(dir)
    expect(error.hint).toMatch(/Choose a writable directory with --data-dir/)
  })
})

describe('a second backend on a data dir', () => {
  it('is rejected with the pid and address of the first, which keeps running', async () => {
    const { url } = await start()
    const error = await failedChild(dir)
    expect(error.code).toBe('data_dir_busy')
    expect(error.message).toBe(`a backend already uses the directory ${dir}: process ${process.pid}, serving ${url}`)
    expect(error.hint).toMatch(/--data-dir/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('is rejected in the same process, too', async () => {
    await start()
    await expect(startTestBackend(dir)).rejects.toMatchObject({ code: 'data_dir_busy' })
  })

  it('starts after the first has closed', async () => {
    await (await start()).close()
    const child = await startedChild(dir)
    await child.kill('SIGTERM')
    await start()
  })

  it('starts right after the first was killed, and deploys every NFT once', async () => {
    const child = await startedChild(dir)
    const post = async (name: string, body: object) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': child.apiKey }
      const answer = await fetch(`${child.url}/api/v1/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as never
    }
    const wallet = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
    const creation: { response: { transaction_gdn_id: string } } = await post('createcollection', {
      wallet_address: wallet,
      name: 'Killed',
      blockchain: 'polygon',
    })
    const response: { collections: { contract_address: string }[] } = await post('getcollections', {
      transaction_gdn_ids: [creation.response.transaction_gdn_id],
    })
    const minted: { nfts: { nft_gdn_ids: string }[] } = await post('createnft', {
      contract_address: response.collections[0]?.contract_address,
      blockchain: 'polygon',
      receiver_wallet_address: wallet,
      metadata: plainMetadata(40),
    })
    const steps = () =>
      withStore(dir, async ({ db }) => (await db.selectFrom('nfts').select('step').execute()).map(({ step }) => step))
    // The transaction of an NFT is signed and may already be in a block.
    await until(steps, (all) => all.some((step) => step === 'chain' || step === 'done'), 150_000, 1)
    await child.kill('SIGKILL')
    const second = await start()
    expect(second.apiKey.reveal()).toBe(child.apiKey)
    const nfts = await settled(
      second,
      minted.nfts.map((nft) => nft.nft_gdn_ids),
    )
    expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(nfts.map((_, i) => ['deployed', String(i + 1)]))
  })
})

describe('an address to listen on', () => {
  it('is reported with a hint if the port is in use, and the data dir is released', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const error = await refusal(dir, { port })
    expect(error.code).toBe('port_in_use')
    expect(error.message).toContain(String(port))
    expect(error.hint).toMatch(/--port 0.*\nFor commands, set the same port in GDN_BASE_URL or --base-url/)
    await new Promise((resolve) => other.close(resolve))
    await start(dir, { port })
    expect(backend?.url).toBe(`http://127.0.0.1:${port}`)
  })

  it("is reported if the host doesn't belong to this machine", async () => {
    expect(await refusal(dir, { host: '192.0.2.1' })).toMatchObject({
      code: 'usage',
      hint: expect.stringMatching(/--host/),
    })
  })
})
