/** @module-tag slow */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { MAX_FILE_BYTES } from '../../src/api/endpoints/files.ts'
import { EXIT } from '../../src/core/exit-codes.ts'
import { service, TARGET } from '../cli/batch/drop.ts'
import { fakeApi, OWNER } from '../cli/fake-api.ts'
import { mkfifo } from '../cli/mkfifo.ts'
import { until } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'

const PATIENCE_MS = 60_000

let home: GdnHome
let repository: string
beforeEach(async () => {
  home = await makeHome()
  repository = join(home.dir, 'cloned')
  await mkdir(join(repository, '.git'), { recursive: true })
})
afterEach(() => home.remove())

/** Starts gdn in the repository. */
const start = (argv: readonly string[]) => home.start(argv, { cwd: repository, env: { GDN_API_KEY: 'key' } })

/** Runs gdn in the repository, and kills it after a timeout. */
async function inRepository(argv: readonly string[]) {
  const child = start(argv)
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  const { exitCode, signal, stderr } = await child
  clearTimeout(timer)
  return { code: exitCode, signal: signal ?? null, stderr: String(stderr) }
}

test('ignores a package.json that is a link to an endless device', async () => {
  await symlink('/dev/zero', join(repository, 'package.json'))
  expect(await inRepository(['config', 'list'])).toEqual({ code: 0, signal: null, stderr: '' })
})

test('rejects a .gdnrc that is a link to an endless device, and names it', async () => {
  await symlink('/dev/zero', join(repository, '.gdnrc'))
  const { code, stderr } = await inRepository(['config', 'list'])
  expect(code).toBe(2)
  expect(stderr).toContain('.gdnrc')
})

test('rejects a manifest that refers to a key of ours by path or link before sending anything', async () => {
  await mkdir(join(home.dir, '.ssh'))
  await writeFile(join(home.dir, '.ssh', 'id_key'), 'secret', { mode: 0o600 })
  await symlink(join(home.dir, '.ssh', 'id_key'), join(repository, 'art.png'))
  for (const image of ['../.ssh/id_key', join(home.dir, '.ssh', 'id_key'), 'art.png']) {
    const row = `Dawn,d,0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359,${image}`
    await writeFile(join(repository, 'drop.csv'), `title,description,receiver,image\n${row}\n`)
    const { code, stderr } = await inRepository(['batch', 'validate', 'drop.csv', '-b', 'polygon'])
    expect({ image, code }).toEqual({ image, code: 2 })
    expect(stderr).toContain('would be published')
  }
})

describe('gdn apply of a saved plan', () => {
  /** Saves a plan of NFTs with these images. Returns the command that applies it. */
  async function planned(images: readonly string[], handlers = {}): Promise<string[]> {
    const { url } = await fakeApi(handlers)
    const rows = images.map((image) => `${image},Dawn,d,${OWNER},${image}\n`)
    await writeFile(join(repository, 'drop.csv'), `id,title,description,receiver,image\n${rows.join('')}`)
    const plan = ['plan', 'drop.csv', ...TARGET, '--base-url', url, '--out', 'plan.json']
    expect(await inRepository(plan)).toMatchObject({ code: 0 })
    return ['apply', 'plan.json', ...TARGET, '--base-url', url, '--yes']
  }

  const ENDLESS = [
    ['a pipe that nobody writes to', mkfifo],
    ['an endless device', (path: string) => symlink('/dev/zero', path)],
  ] as const

  test.each(ENDLESS)('rejects %s in place of the plan or of an image', async (_, make) => {
    await writeFile(join(repository, 'art.bin'), 'art')
    const apply = await planned(['art.bin'])
    for (const [name, code, message] of [
      ['art.bin', EXIT.refused, 'image of line 2 is not a regular file'],
      ['plan.json', EXIT.usage, /plan\.json: is a (?:pipe|device), not a file/],
    ] as const) {
      await rm(join(repository, name))
      await make(join(repository, name))
      expect(await inRepository(apply)).toEqual({ code, signal: null, stderr: expect.stringMatching(message) })
    }
  })

  test.each(ENDLESS)('does not read %s in place of the manifest', async (_, make) => {
    await writeFile(join(repository, 'art.bin'), 'art')
    const files = () => ({ body: { url: 'https://files.test/art.bin' } })
    const apply = await planned(['art.bin'], { ...service(), files })
    await rm(join(repository, 'drop.csv'))
    await make(join(repository, 'drop.csv'))
    expect(await inRepository(apply)).toMatchObject({ code: 0 })
  })

  test.skipIf(process.platform !== 'linux')('ends with SIGTERM while it reads images', async () => {
    const large = ['a.bin', 'b.bin', 'c.bin']
    for (const name of [...large, 'last.bin']) await writeFile(join(repository, name), name)
    for (const name of large) await truncate(join(repository, name), MAX_FILE_BYTES)
    const apply = await planned([...large, 'last.bin'])
    // If gdn read all images, it would refuse this one.
    await writeFile(join(repository, 'last.bin'), 'changed')
    const child = start(apply)
    onTestFinished(() => void child.kill('SIGKILL'))
    await until(
      async () => bytesRead(child.pid ?? 0, join(repository, 'a.bin')),
      (bytes) => bytes > 0,
    )
    child.kill('SIGTERM')
    const { exitCode, stderr } = await child
    expect(exitCode, String(stderr)).toBe(EXIT.sigterm)
  })
})

/** Returns how far a process has read a file that it has open, otherwise 0. Linux only. */
function bytesRead(pid: number, path: string): number {
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`) !== path) continue
      return Number(/^pos:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1])
    } catch {
      // It was closed in the meantime.
    }
  }
  return 0
}
