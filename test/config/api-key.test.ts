import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { forgetApiKey, saveApiKey } from '../../src/config/saved-keys.ts'
import { Secret } from '../../src/core/secret.ts'
import { type Home, makeHome, noKeyring } from './home.ts'

const OURS = 'https://ours.test'
const THEIRS = 'https://theirs.test'

async function keyFor(home: Home, ...given: Parameters<Home['settings']>): Promise<string> {
  const settings = await home.settings(...given)
  return (await settings.apiKey(await settings.server())).reveal()
}

describe('GDN_API_KEY goes where the user points', () => {
  const env = { GDN_API_KEY: 'env-key' }

  test('by a flag, the environment, or a profile of the user', async () => {
    const home = await makeHome()
    await home.user({ profiles: { default: { base_url: OURS } } })
    expect(await keyFor(home, { baseUrl: THEIRS }, env)).toBe('env-key')
    expect(await keyFor(home, {}, { ...env, GDN_BASE_URL: THEIRS })).toBe('env-key')
    expect(await keyFor(home, {}, env)).toBe('env-key')
  })

  test('not where a project file alone points: the command stops and says how to allow it', async () => {
    const home = await makeHome()
    await home.user({ profiles: { default: { base_url: OURS } } })
    await home.write('project/.gdnrc.json', { base_url: THEIRS })
    await expect(keyFor(home, {}, env)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining(THEIRS),
      hint: expect.stringContaining('--base-url'),
    })
  })

  test('where a project file names a server of the user, it may', async () => {
    const home = await makeHome()
    await home.user({ profiles: { work: { base_url: `${OURS}/api` } } })
    await home.write('project/.gdnrc.json', { base_url: OURS })
    expect(await keyFor(home, {}, env)).toBe('env-key')
  })
})

describe('a saved key belongs to one origin', () => {
  test('and is sent to no other, whoever names it', async () => {
    const home = await makeHome()
    await saveApiKey({ HOME: home.dir }, OURS, new Secret('saved'))
    expect(await keyFor(home, { baseUrl: `${OURS}/` })).toBe('saved')
    for (const other of [THEIRS, 'http://ours.test', 'https://ours.test:8443', 'https://ours.test.evil.test']) {
      await expect(keyFor(home, { baseUrl: other })).rejects.toMatchObject({ code: 'unauthorized' })
    }
    await home.write('project/.gdnrc.json', { base_url: THEIRS })
    await expect(keyFor(home)).rejects.toMatchObject({ code: 'unauthorized' })
  })

  test('GDN_API_KEY goes before it', async () => {
    const home = await makeHome()
    await saveApiKey({ HOME: home.dir }, OURS, new Secret('saved'))
    expect(await keyFor(home, { baseUrl: OURS }, { GDN_API_KEY: 'env-key' })).toBe('env-key')
  })

  test('it is kept in a file for its owner only, and one that others may read is refused with the command that closes it', async () => {
    const home = await makeHome()
    await saveApiKey({ HOME: home.dir }, OURS, new Secret('saved'))
    const file = join(home.dir, '.config', 'gdn', 'credentials.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ [OURS]: 'saved' })
    await chmod(file, 0o644)
    await expect(keyFor(home, { baseUrl: OURS })).rejects.toMatchObject({
      code: 'unauthorized',
      hint: `Run \`chmod 600 '${file}'\`.`,
    })
  })

  test('forgetting one leaves the others', async () => {
    const home = await makeHome()
    const env = { HOME: home.dir }
    await saveApiKey(env, OURS, new Secret('a'))
    await saveApiKey(env, THEIRS, new Secret('b'))
    await forgetApiKey(env, OURS, noKeyring)
    expect(await keyFor(home, { baseUrl: THEIRS })).toBe('b')
    await expect(keyFor(home, { baseUrl: OURS })).rejects.toMatchObject({ code: 'unauthorized' })
  })
})

test('no key at all says how to give one', async () => {
  const home = await makeHome()
  await expect(keyFor(home, { baseUrl: OURS })).rejects.toMatchObject({
    code: 'unauthorized',
    hint: expect.stringContaining('GDN_API_KEY'),
  })
})
