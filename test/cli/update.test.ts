/** @module-tag slow */
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readUpdateCache, type UpdateCache, updateCacheFile, writeUpdateCache } from '../../src/cli/update/cache.ts'
import { checkForUpdate, npmRegistry } from '../../src/cli/update/check.ts'
import { type InstalledPackage, installedPackage } from '../../src/cli/update/installed.ts'
import { isNewer, updateNotice } from '../../src/cli/update/notice.ts'
import { fakeApi } from './fake-api.ts'
import { tempHome } from './harness.ts'

const DAY = 24 * 60 * 60_000
const NOW = 1_900_000_000_000
const MANIFEST = { name: 'gdn', version: '1.2.3', description: 'NFTs', bin: { gdn: 'bin/gdn.js' } }
const INSTALLED: InstalledPackage = {
  ...MANIFEST,
  bin: JSON.stringify(MANIFEST.bin),
  root: '/usr/lib/node_modules/gdn',
}

/** A terminal where a command has just ended; the update check that it starts writes a file. */
async function terminal(cache: Partial<UpdateCache> | null = {}) {
  const { dir, env } = await tempHome()
  const script = join(dir, 'gdn.mjs')
  await writeFile(
    script,
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(dir, 'asked'))}, process.argv[2])`,
  )
  if (cache !== null) writeUpdateCache(env, { checkedAt: NOW, notifiedAt: 0, latest: '1.3.0', ...cache })
  let screen = ''
  const end = (
    more: { env?: NodeJS.ProcessEnv; isTTY?: boolean; now?: number; installed?: InstalledPackage | null } = {},
  ) => {
    screen = ''
    updateNotice({
      env: { ...env, ...more.env },
      cwd: dir,
      stderr: { isTTY: more.isTTY ?? true, write: (text) => (screen += text) },
      program: [process.execPath, script],
      now: more.now ?? NOW,
      installed: () => (more.installed === undefined ? INSTALLED : more.installed),
    })
    return screen
  }
  const asked = async (withinMs = 60_000): Promise<string | null> => {
    for (const until = performance.now() + withinMs; performance.now() < until; ) {
      const text = await readFile(join(dir, 'asked'), 'utf8').catch(() => null)
      if (text) return text
      await new Promise((done) => setTimeout(done, 20))
    }
    return null
  }
  return { dir, env, end, asked }
}

describe('the update notice', () => {
  test('shows both versions, the update command, and how to turn the notice off', async () => {
    const { end } = await terminal()
    expect(end()).toBe(
      '\ngdn 1.3.0 is available (installed: 1.2.3). To update, run: npm install -g gdn\n  Set GDN_NO_UPDATE_NOTICE=1 to turn this notice off.\n',
    )
  })

  test('shows the update command of a project for a local installation', async () => {
    const { end, dir } = await terminal()
    expect(end({ installed: { ...INSTALLED, root: join(dir, 'node_modules', 'gdn') } })).toContain(
      'npm install gdn@latest',
    )
  })

  test('appears once a day', async () => {
    const { end } = await terminal()
    expect(end()).not.toBe('')
    expect(end({ now: NOW + DAY - 1 })).toBe('')
    expect(end({ now: NOW + DAY })).not.toBe('')
  })

  test.each<[string, Parameters<Awaited<ReturnType<typeof terminal>>['end']>[0]]>([
    ['off a terminal', { isTTY: false }],
    ['in CI', { env: { CI: 'true' } }],
    ['in GitHub Actions', { env: { GITHUB_ACTIONS: 'true' } }],
    ['with GDN_NO_UPDATE_NOTICE', { env: { GDN_NO_UPDATE_NOTICE: '1' } }],
    ['with NO_UPDATE_NOTIFIER', { env: { NO_UPDATE_NOTIFIER: '1' } }],
    ['on a dumb terminal', { env: { TERM: 'dumb' } }],
    ['without an npm installation', { installed: null }],
  ])('does not appear %s, and the registry is not queried', async (_, how) => {
    const { end, asked } = await terminal({ checkedAt: 0 })
    expect(end(how)).toBe('')
    expect(await asked(300)).toBeNull()
  })

  test('ignores the current version, older ones and prereleases', async () => {
    for (const latest of ['1.2.3', '1.2.2', '0.9.9', '2.0.0-beta.1', 'x', '1.3', null]) {
      const { end } = await terminal({ latest })
      expect(end(), String(latest)).toBe('')
    }
    expect(isNewer('1.10.0', '1.9.9')).toBe(true)
  })

  test("does not appear if its state can't be stored", async () => {
    const { end, dir } = await terminal(null)
    await writeFile(join(dir, 'file'), '')
    expect(end({ env: { GDN_STATE_DIR: join(dir, 'file', 'x') } })).toBe('')
  })

  test('ignores a damaged cache', async () => {
    const { end, env, asked } = await terminal()
    await writeFile(updateCacheFile(env), '{"latest": 7, "checkedAt": "x"')
    expect(end()).toBe('')
    expect(await asked()).toBe('--check-for-update')
  })
})

describe('the update check', () => {
  test('runs at most once a day, in a detached process', async () => {
    const { end, asked, env } = await terminal(null)
    expect(end()).toBe('')
    expect(await asked()).toBe('--check-for-update')
    expect(readUpdateCache(env).checkedAt).toBe(NOW)
    const later = await terminal({ latest: null })
    later.end({ now: NOW + DAY - 1 })
    expect(await later.asked(300)).toBeNull()
  })

  test('uses the npm registry of the user, never that of the project, and is skipped without npm', async () => {
    const { dir, env } = await tempHome()
    const registry = async (more: NodeJS.ProcessEnv = {}) =>
      (await npmRegistry({ PATH: process.env.PATH, ...env, ...more }))?.href ?? null
    await writeFile(join(dir, '.npmrc'), 'registry="https://$' + '{WHERE}.test/npm"\n')
    expect(await registry({ WHERE: 'user' })).toBe('https://user.test/npm/')
    expect(await registry({ npm_config_registry: 'https://env.test' })).toBe('https://env.test/')
    expect(await registry({ npm_config_registry: 'file:///etc' })).toBeNull()
    expect(await registry({ PATH: dir })).toBeNull()
  })

  test('stores the latest version in a file that only its owner can read', async () => {
    const { env } = await tempHome()
    const { url, calls } = await fakeApi({
      '/npm/gdn/1.2.3': () => ({ body: { ...MANIFEST, dist: {} } }),
      '/npm/gdn/latest': () => ({ body: { ...MANIFEST, version: '1.3.0' } }),
    })
    await checkForUpdate({ PATH: process.env.PATH, ...env, npm_config_registry: `${url}/npm` }, INSTALLED)
    expect(readUpdateCache(env).latest).toBe('1.3.0')
    expect((await stat(updateCacheFile(env))).mode & 0o777).toBe(0o600)
    for (const { headers } of calls) expect(headers.authorization).toBeUndefined()
  })

  test.each<[string, object]>([
    ['has another package of that name', { ...MANIFEST, description: 'a game' }],
    ['has one with another command', { ...MANIFEST, bin: { gdn: 'evil.js' } }],
  ])('ignores a registry that %s', async (_, own) => {
    const { env } = await tempHome()
    const { url } = await fakeApi({ '/gdn/1.2.3': () => ({ body: own }) })
    await checkForUpdate({ PATH: process.env.PATH, ...env, npm_config_registry: url }, INSTALLED)
    expect(readUpdateCache(env).latest).toBeNull()
  })

  test('ignores errors of the registry', async () => {
    const { env } = await tempHome()
    await checkForUpdate({ PATH: process.env.PATH, ...env, npm_config_registry: 'http://127.0.0.1:1' }, INSTALLED)
    const { url } = await fakeApi({ '/gdn/1.2.3': () => ({ status: 401, body: 'no' }) })
    await checkForUpdate({ PATH: process.env.PATH, ...env, npm_config_registry: url }, INSTALLED)
    expect(readUpdateCache(env).latest).toBeNull()
  })
})

describe('a package', () => {
  async function installedAt(path: string, more: object = {}) {
    const { dir } = await tempHome()
    const root = join(dir, path)
    await mkdir(root, { recursive: true })
    await writeFile(join(root, 'package.json'), JSON.stringify({ ...MANIFEST, ...more }))
    return root
  }

  test('is updatable if npm installed it', async () => {
    expect(installedPackage(await installedAt('lib/node_modules/gdn'))).toMatchObject({ name: 'gdn', version: '1.2.3' })
  })

  test.each([
    ['a source checkout', 'src/gdn'],
    ['an npx download', '_npx/1/node_modules/gdn'],
  ])('is not updatable as %s', async (_, path) => {
    expect(installedPackage(await installedAt(path))).toBeNull()
  })

  test('is not updatable if it is private or linked from a checkout', async () => {
    expect(installedPackage(await installedAt('lib/node_modules/gdn', { private: true }))).toBeNull()
    const checkout = await installedAt('src/gdn')
    const link = join(await installedAt('lib/node_modules/other'), '..', 'gdn')
    await symlink(checkout, link)
    expect(installedPackage(link)).toBeNull()
  })
})
