/** @module-tag slow */
import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { identifyRowFiles } from '../../src/cli/mcp/row-files.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import { folder } from '../cli/batch/drop.ts'
import { cli } from '../cli/harness.ts'
import { createTestCollection, freshDataDir, startTestBackend, type TestBackend, WALLETS } from '../helpers/backend.ts'
import { pngOf } from '../helpers/file-server.ts'
import { ALICE, Machine, row, Server } from './world.ts'

const IMAGE = 'Möwen/Fähre.png'.normalize('NFC')
const OTHER_IMAGE = 'Häfen/Fähre.png'.normalize('NFC')
const PLACEHOLDER = 'Möwen/Tür.png'.normalize('NFC')

// On macOS, both forms name one file.
describe.skipIf(process.platform === 'darwin')('a file name that is NFD on disk and NFC in the manifest', () => {
  let data: Awaited<ReturnType<typeof freshDataDir>>
  let backend: TestBackend
  beforeAll(async () => {
    data = await freshDataDir()
    backend = await startTestBackend(data.path)
  })
  afterAll(async () => {
    await backend.close()
    await data.remove()
  })

  /** A machine with a manifest of one row and its image. */
  async function machine() {
    const { address } = await createTestCollection(backend, { dynamic: true })
    const { path, options } = await folder({
      'drop.csv': `id,title,description,receiver,image\na,Ferry,x,${WALLETS[1]},${IMAGE}\n`,
      'hidden.json': JSON.stringify({ title: 'Hidden', description: 'x', image: PLACEHOLDER }),
    })
    const draw = async (content: string, name = IMAGE) => {
      await mkdir(dirname(path(name.normalize('NFD'))), { recursive: true })
      await writeFile(path(name.normalize('NFD')), pngOf(content))
    }
    await draw('first')
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
    const run = async (...argv: string[]) => {
      const result = await cli(argv, { ...options, env })
      expect(result.code, result.stderr).toBe(0)
      return result
    }
    const target = ['-c', address, '-b', 'polygon']
    return {
      path,
      draw,
      run,
      target,
      /** Runs a command with the manifest as its argument. */
      runHere: (command: string, ...more: string[]) => run(...command.split(' '), path('drop.csv'), ...target, ...more),
      actions: async () => {
        const { stdout } = await run('plan', path('drop.csv'), ...target, '--json')
        return (JSON.parse(stdout) as { action: string }[]).map(({ action }) => action)
      },
    }
  }

  test('is found by each command that reads the manifest', { tags: ['promise'] }, async () => {
    const { path, draw, run, runHere, actions } = await machine()
    await run('batch', 'validate', path('drop.csv'), '-b', 'polygon')
    await runHere('batch mint', '--dry-run')
    await runHere('apply', '--yes')
    expect(await actions()).toEqual([])

    await run('batch', 'preview', path('drop.csv'), '-b', 'polygon')
    const [, src = ''] = /<img src="([^"]*)"/.exec(await readFile(path('drop-preview.html'), 'utf8')) ?? []
    const shown = join(await realpath(path('.')), decodeURIComponent(src))
    expect([src, existsSync(shown)]).toEqual([expect.stringContaining('%CC%88'), true])
    await run('batch', 'report', path('drop.csv'), '--to', path('drop-report.html'))
    expect(await readFile(path('drop-report.html'), 'utf8')).toContain('data:image/png')
    const verified = await run('batch', 'results', path('drop.csv'), '--verify', '--json', '--fields', 'verified')
    expect(JSON.parse(verified.stdout)).toEqual([{ verified: true }])

    await draw('second')
    expect(await actions()).toEqual(['update'])
    expect(JSON.parse((await runHere('apply', '--yes', '--json')).stdout)).toMatchObject({ updated: 1 })
    expect(await actions()).toEqual([])

    await draw('third')
    await runHere('plan', '--out', path('saved.plan'))
    expect(JSON.parse((await run('apply', path('saved.plan'), '--yes', '--json')).stdout)).toMatchObject({ updated: 1 })
    expect(await actions()).toEqual([])
  })

  test('is found by a reveal', async () => {
    const { draw, runHere, path } = await machine()
    await draw('hidden', PLACEHOLDER)
    await runHere('batch mint', '--unrevealed', path('hidden.json'), '--yes')
    expect(JSON.parse((await runHere('reveal', '--yes', '--json')).stdout)).toMatchObject({ revealed: 1 })
  })

  test('is found by the commands that read it from a flag', async () => {
    const { target, run } = await machine()
    const minted = [
      '--title',
      'Ferry',
      '--description',
      'x',
      '--receiver',
      WALLETS[1],
      '--image',
      IMAGE,
      '--yes',
      '--json',
    ]
    expect(JSON.parse((await run('nft', 'mint', ...target, ...minted)).stdout)).toMatchObject({ status: 'deployed' })
  })

  test('is watched for changes by the MCP server', async () => {
    const { draw, path } = await machine()
    const digest = () =>
      identifyRowFiles(
        { command: 'batch mint' } as Parameters<typeof identifyRowFiles>[0],
        { manifest: 'drop.csv' },
        path('.'),
        () => Promise.resolve(new Set([path(IMAGE)])),
      )
    const before = await digest()
    await draw('another')
    expect(await digest()).not.toEqual(before)
  })

  test.each(['a', null])('is not taken for a moved file where the row names another one (id %s)', async (id) => {
    const server = new Server()
    const one = await Machine.start(server)
    const { path } = await machine()
    for (const name of [IMAGE, OTHER_IMAGE]) {
      await mkdir(dirname(path(name.normalize('NFD'))), { recursive: true })
      await writeFile(path(name.normalize('NFD')), name)
    }
    one.upload = async (file) => ({ url: (await new LocalContents().read(file)).url })
    const rowWith = (name: string) => ({
      ...row('a', ALICE),
      id,
      metadata: { title: 'a', description: '', file_fields: [{ key: 'image', url: '' }] },
      localFiles: [{ key: 'image', path: path(name) }],
    })
    await one.mint([rowWith(IMAGE)])
    const failure = await one.mint([rowWith(OTHER_IMAGE)]).catch((error: unknown) => error)
    expect(failure).toMatchObject(id === null ? { code: 'edited_rows' } : { details: { kept_accepted: 1 } })
  })
})
