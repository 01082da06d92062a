import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { compileCacheFolder } from '../../src/cli/compile-cache.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const KEEPS = 'enableCompileCache' in process.getBuiltinModule('node:module')

let home: string
let folder: string

beforeEach(async () => {
  home = await temporaryFolder('gdn-compile-')
  folder = join(home, '.cache', 'gdn', 'compile')
})

const linux = (uid = process.getuid?.() ?? 0) => ({ platform: 'linux' as const, uid })

describe.skipIf(process.platform === 'win32')('the compile cache folder', () => {
  test('is created below the user cache with mode 0700', async () => {
    expect(compileCacheFolder({ HOME: home })).toBe(folder)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    const named = join(home, 'cache')
    expect(compileCacheFolder({ HOME: home, XDG_CACHE_HOME: named })).toBe(join(named, 'gdn', 'compile'))
    expect(compileCacheFolder({ HOME: home, XDG_CACHE_HOME: 'relative' })).toBe(folder)
  })

  test('is not used if it belongs to another user', async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { uid } = await stat(folder)
    expect(compileCacheFolder({ HOME: home }, linux(uid))).toBe(folder)
    expect(compileCacheFolder({ HOME: home }, linux(uid + 1))).toBeNull()
  })

  test.each([0o777, 0o770, 0o707, 0o750])('is not used with mode %o', async (mode) => {
    await mkdir(folder, { recursive: true })
    await chmod(folder, mode)
    expect(compileCacheFolder({ HOME: home })).toBeNull()
  })

  test('is not used if it is a link or a file', async () => {
    await mkdir(join(folder, '..'), { recursive: true })
    await mkdir(join(home, 'elsewhere'), { mode: 0o700 })
    await symlink(join(home, 'elsewhere'), folder)
    expect(compileCacheFolder({ HOME: home })).toBeNull()
    await rm(folder)
    await writeFile(folder, '')
    expect(compileCacheFolder({ HOME: home })).toBeNull()
  })

  test.each([
    ['without a home', {}],
    ['with an empty home', { HOME: '' }],
    ['with a home that is not a folder', { HOME: '/dev/null' }],
  ])('is not used %s', (_, env) => {
    expect(compileCacheFolder(env)).toBeNull()
  })
})

describe.skipIf(!KEEPS || process.platform === 'win32')('gdn on a Node.js with a compile cache', () => {
  function run(env: Record<string, string> = {}) {
    const { status } = spawnSync(process.execPath, [GDN_BIN, 'config', 'path'], { env: { HOME: home, ...env } })
    expect(status).toBe(0)
  }

  const files = async () => await readdir(folder, { recursive: true }).catch(() => [])

  test('stores compiled code in that folder', async () => {
    run()
    expect((await files()).length).toBeGreaterThan(1)
  })

  test('stores nothing in a folder that others can write to', async () => {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o777)
    run()
    expect(await files()).toEqual([])
  })

  test('stores nothing if the user turns the cache off', async () => {
    run({ NODE_DISABLE_COMPILE_CACHE: '1' })
    expect(await files()).toEqual([])
  })
})
