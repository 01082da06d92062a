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

describe('GDN_API_KEY is sent to the server that the user chose', () => {
  const env = { GDN_API_KEY: 'env-key' }

  test('by a flag, the environment, or a profile', async () => {
    const home = await makeHome()
    await home.user({ profiles: { default: { base_url: OURS } } })
    expect(await keyFor(home, { baseUrl: THEIRS }, env)).toBe('env-key')
    expect(await keyFor(home, {}, { ...env, GDN_BASE_URL: THEIRS })).toBe('env-key')
    expect(await keyFor(home, {}, env)).toBe('env-key')
  })

  test('does not send GDN_API_KEY to a server that only a project file names, and says how to allow it', async () => {
    const home = await makeHome()
    await home.user({ profiles: { default: { base_url: OURS } } })
    await home.write('project/.gdnrc.json', { base_url: THEIRS })
    await expect(keyFor(home, {}, env)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining(THEIRS),
      hint: expect.stringContaining('--base-url'),
    })
  })

  test('GDN_API_KEY is sent to the server that the user chose if a project file names a server from the user profiles', async () => {
    const home = await makeHome()
    await home.user({ profiles: { work: { base_url: `${OURS}/api` } } })
    await home.write('project/.gdnrc.json', { base_url: OURS })
    expect(await keyFor(home, {}, env)).toBe('env-key')
  })
})

describe('a saved key belongs to one origin', () => {
  test('is not sent to any other origin, wherever it is configured', async () => {
    const home = await makeHome()
    await saveApiKey({ HOME: home.dir }, OURS, new Secret('saved'))
    expect(await keyFor(home, { baseUrl: `${OURS}/` })).toBe('saved')
    for (const other of [THEIRS, 'http://ours.test', 'https://ours.test:8443', 'https://ours.test.evil.test']) {
      await expect(keyFor(home, { baseUrl: other })).rejects.toMatchObject({ code: 'unauthorized' })
    }
    await home.write('project/.gdnrc.json', { base_url: THEIRS })
    await expect(keyFor(home)).rejects.toMatchObject({ code: 'unauthorized' })
  })

  test('is overridden by GDN_API_KEY', async () => {
    const home = await makeHome()
    await saveApiKey({ HOME: home.dir }, OURS, new Secret('saved'))
    expect(await keyFor(home, { baseUrl: OURS }, { GDN_API_KEY: 'env-key' })).toBe('env-key')
  })

  test('is stored in a file with mode 0600, and a file that others can read is rejected with the command to fix it', async () => {
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

  test('stays when the key of another origin is removed', async () => {
    const home = await makeHome()
    const env = { HOME: home.dir }
    await saveApiKey(env, OURS, new Secret('a'))
    await saveApiKey(env, THEIRS, new Secret('b'))
    await forgetApiKey(env, OURS, noKeyring)
    expect(await keyFor(home, { baseUrl: THEIRS })).toBe('b')
    await expect(keyFor(home, { baseUrl: OURS })).rejects.toMatchObject({ code: 'unauthorized' })
  })
})

test('a missing key is reported with a hint how to set one', async () => {
  const home = await makeHome()
  await expect(keyFor(home, { baseUrl: OURS })).rejects.toMatchObject({
    code: 'unauthorized',
    hint: expect.stringContaining('GDN_API_KEY'),
  })
})
