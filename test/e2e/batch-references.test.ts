import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshDataDir, until, WALLETS } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type HttpFaultProxy, startHttpFaultProxy } from '../helpers/http-fault-proxy.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const ROWS = 9
const RECEIVER = WALLETS[0]

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend
let proxy: HttpFaultProxy
let folder: string
let contract: string
/** Endpoints that were requested through the proxy. */
let asked: string[] = []
let fault: (endpoint: string) => 'reset-after' | null = () => null

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-batch-references-'))
  dataDir = await freshDataDir()
  backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
  proxy = await startHttpFaultProxy(backend.url, {
    random: () => 0.5,
    faultOf(path) {
      const endpoint = path.split('/').at(-1) ?? ''
      asked.push(endpoint)
      return fault(endpoint)
    },
  })
})
afterAll(async () => {
  await proxy.close()
  await backend.end('SIGTERM')
  await dataDir.remove()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  const setup = gdnAt(backend, folder)
  const wallet = ['--name', 'References', '--wallet', RECEIVER]
  contract = (await setup.json<{ contract_address: string }>('collection', 'create', ...wallet)).contract_address
  asked = []
  fault = () => null
})

const lines = (count: number, title = (n: number) => `Piece ${n}`) =>
  Array.from({ length: count }, (_, n) => `id-${n},${title(n)},One,${WALLETS[n % 2]},${n % 3}`)
const manifest = (rows: readonly string[]) => `id,title,description,receiver,attr:Mood\n${rows.join('\n')}\n`

/** A machine with a separate home directory and manifest. */
async function machine(rows = lines(ROWS), name = 'drop.csv') {
  const home = await mkdtemp(join(folder, 'machine-'))
  await mkdir(join(home, 'drops'))
  const path = join(home, 'drops', name)
  await writeFile(path, manifest(rows))
  const gdn = gdnAt({ ...backend, url: proxy.url }, home)
  const argv = ['batch', 'mint', path, '-c', contract]
  return {
    path,
    state: join(home, '.local', 'state', 'gdn'),
    mint: (...flags: string[]) => gdn.run(...argv, '--json', ...flags),
    mintForPeople: () => gdn.run(...argv),
    kill: (when: (ended: AbortSignal) => Promise<void>, ...flags: string[]) =>
      gdn.runAndKill([...argv, ...flags], when),
    ids: async () => {
      const rows = await gdn.json<{ nft_gdn_id: string; status: string }[]>('batch', 'results', 'drop')
      return rows.map(({ nft_gdn_id, status }) => (status === 'deployed' ? nft_gdn_id : status))
    },
  }
}

/** The IDs of the collection's NFTs by title. */
async function minted(): Promise<Map<string, string[]>> {
  const listed = await gdnAt(backend, folder).json<{ nft_gdn_id: string; request_metadata: { title: string } }[]>(
    ...['nft', 'list', '-c', contract],
  )
  const ids = new Map<string, string[]>()
  for (const { nft_gdn_id, request_metadata } of listed) {
    ids.set(request_metadata.title, [...(ids.get(request_metadata.title) ?? []), nft_gdn_id])
  }
  return ids
}

const onceEach = async (count = ROWS) => {
  const ids = await minted()
  expect([...ids.values()].map((each) => each.length)).toEqual(Array(count).fill(1))
  return Array.from({ length: count }, (_, n) => ids.get(`Piece ${n}`)?.[0])
}

describe('batch mint adopts rows that the backend already has by reference ID', () => {
  async function adopts(again: Awaited<ReturnType<typeof machine>>, ...flags: string[]) {
    asked = []
    const second = await again.mint(...flags)
    expect(second.exitCode, second.stderr).toBe(0)
    expect(asked).toContain('getreferences')
    expect(await again.ids()).toEqual(await onceEach())
  }

  test('after the state directory was lost', async () => {
    const first = await machine()
    expect(await first.mint()).toMatchObject({ exitCode: 0 })
    const ids = await first.ids()
    await rm(first.state, { recursive: true })
    await adopts(first)
    expect(await first.ids()).toEqual(ids)
    expect(asked).not.toContain('createnft')
  })

  test('batch mint counts rows that the backend already has by reference ID in the plan', async () => {
    const first = await machine()
    expect(await first.mint()).toMatchObject({ exitCode: 0 })
    await rm(first.state, { recursive: true })
    const { exitCode, stderr } = await first.mintForPeople()
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(
        new RegExp(`  No rows to send\\n  Rows not sent, because the server already has them: ${ROWS}\\n`),
      ),
    })
  })

  test('on another CI runner, with another chunk size and folder', async () => {
    expect(await (await machine()).mint('--chunk-size', '2')).toMatchObject({ exitCode: 0 })
    await adopts(await machine(), '--chunk-size', '5')
    expect(asked).not.toContain('createnft')
  })

  test('after the first runner was killed halfway, and sends only the remaining rows', async () => {
    const first = await machine()
    const began = async (ended: AbortSignal) => {
      await until(async () => asked.filter((endpoint) => endpoint === 'createnft').length > 1 || ended.aborted, Boolean)
    }
    fault = (endpoint) => (endpoint === 'createnft' ? 'reset-after' : null)
    await first.kill(began, '--chunk-size', '2')
    fault = () => null
    const before = (await minted()).size
    expect(before).toBeGreaterThan(0)
    await adopts(await machine(), '--chunk-size', '3')
  })

  test('with a state directory from before the last requests', async () => {
    const first = await machine()
    const backup = `${first.state}-backup`
    fault = (endpoint) => (endpoint === 'createnft' ? 'reset-after' : null)
    await first.kill(
      async (ended) => void (await until(async () => asked.includes('createnft') || ended.aborted, Boolean)),
      ...['--chunk-size', '2'],
    )
    await cp(first.state, backup, { recursive: true })
    fault = () => null
    expect(await first.mint()).toMatchObject({ exitCode: 0 })
    const ids = await first.ids()
    await rm(first.state, { recursive: true })
    await cp(backup, first.state, { recursive: true })
    await adopts(first)
    expect(await first.ids()).toEqual(ids)
  })
})

describe('a manifest that uses the reference IDs of another manifest', () => {
  const other = () => machine(lines(ROWS, (n) => (n < ROWS - 2 ? `Piece ${n}` : `Other ${n}`)))

  test('is rejected on another machine with the affected rows listed, and mints and adopts nothing', async () => {
    expect(await (await machine()).mint()).toMatchObject({ exitCode: 0 })
    const ids = await onceEach()
    const second = await other()
    asked = []
    const { exitCode, stderr } = await second.mint()
    expect(exitCode).toBe(9)
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({
      code: 'seems_minted',
      details: {
        count: 2,
        rows: [ROWS - 2, ROWS - 1].map((n) => ({ key: `id-${n}`, line: n + 2, nft_gdn_id: ids[n] })),
      },
    })
    expect(error.hint).toContain('--run')
    expect(asked).not.toContain('createnft')
    expect(await onceEach()).toEqual(ids)
    const renamed = await second.mint('--run', 'another')
    expect(renamed.exitCode, renamed.stderr).toBe(9)
    expect((await second.mint('--run', 'another', '--no-lookup')).exitCode).toBe(0)
    expect((await minted()).get(`Other ${ROWS - 1}`)).toHaveLength(1)
  })

  test('is accepted as the same rows with --adopt', async () => {
    expect(await (await machine()).mint()).toMatchObject({ exitCode: 0 })
    const second = await other()
    expect(await second.mint('--adopt')).toMatchObject({ exitCode: 0 })
    expect(await second.ids()).toEqual(await onceEach())
  })

  test('is rejected on the same machine with both manifests named', async () => {
    const first = await machine()
    expect(await first.mint()).toMatchObject({ exitCode: 0 })
    await writeFile(first.path.replace('drop.csv', 'copy.csv'), manifest(lines(ROWS, (n) => `Other ${n}`)))
    const gdn = gdnAt({ ...backend, url: proxy.url }, join(first.path, '..', '..'))
    const second = await gdn.run('batch', 'mint', first.path.replace('drop.csv', 'copy.csv'), '-c', contract, '--json')
    expect(second.exitCode).toBe(2)
    expect(JSON.parse(second.stderr).error).toMatchObject({
      code: 'already_accepted',
      message: expect.stringContaining('drop-'),
      details: { count: ROWS },
    })
    await onceEach()
  })
})
