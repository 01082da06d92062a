import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type NativeKeyring, openKeyring } from '../../src/config/keyring.ts'
import { forgetApiKey, listSavedOrigins, saveApiKey } from '../../src/config/saved-keys.ts'
import { Secret } from '../../src/core/secret.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { lockedKeyring, memoryKeyring } from '../helpers/memory-keyring.ts'
import { type Home, makeHome, noKeyring } from './home.ts'

const OURS = 'https://ours.test'
const THEIRS = 'https://theirs.test'
const KEY = 'gdn_a-key-that-nobody-may-see'

async function withKey() {
  const home = await makeHome()
  const keyring = memoryKeyring()
  const env = { HOME: home.dir }
  await saveApiKey(env, OURS, new Secret(KEY), keyring)
  keyring.calls.length = 0
  return { home, env, keyring, open: async () => keyring }
}

async function keyFor(home: Home, ...given: Parameters<Home['settings']>): Promise<string> {
  const settings = await home.settings(...given)
  return (await settings.apiKey(await settings.server())).reveal()
}

describe('a key in the system keyring', () => {
  test('is in no file, and the credentials file says where it is stored', async () => {
    const { home, env, keyring } = await withKey()
    expect(keyring.entries).toEqual(new Map([[OURS, KEY]]))
    expect(await filesHolding(home.dir, KEY)).toEqual([])
    const file = await readFile(join(home.dir, '.config', 'gdn', 'credentials.json'), 'utf8')
    expect(JSON.parse(file)).toEqual({ [OURS]: { kept_in: 'keyring' } })
    expect(await listSavedOrigins(env)).toEqual([{ origin: OURS, keptIn: 'keyring' }])
  })

  test('is not sent to any other origin, wherever that is configured', async () => {
    const { home, keyring, open } = await withKey()
    expect(await keyFor(home, { baseUrl: `${OURS}/x` }, {}, open)).toBe(KEY)
    keyring.calls.length = 0
    for (const other of [THEIRS, 'http://ours.test', 'https://ours.test:8443', 'https://ours.test.evil.test']) {
      await expect(keyFor(home, { baseUrl: other }, {}, open)).rejects.toMatchObject({ code: 'unauthorized' })
    }
    await home.write('project/.gdnrc.json', { base_url: THEIRS })
    await expect(keyFor(home, {}, {}, open)).rejects.toMatchObject({ code: 'unauthorized' })
    // It isn't even read from the keyring.
    expect(keyring.calls).toEqual([])
  })

  test('is not read if GDN_API_KEY or a file has the key', async () => {
    const { home, env, keyring, open } = await withKey()
    expect(await keyFor(home, { baseUrl: OURS }, { GDN_API_KEY: 'env-key' }, open)).toBe('env-key')
    await saveApiKey(env, THEIRS, new Secret('in-a-file'))
    expect(await keyFor(home, { baseUrl: THEIRS }, {}, open)).toBe('in-a-file')
    expect(keyring.calls).toEqual([])
  })

  test('a key in the system keyring that is locked, missing or empty is an error with a hint, and no other key is used', async () => {
    const { home, keyring } = await withKey()
    const locked = keyFor(home, { baseUrl: OURS }, {}, async () => lockedKeyring())
    await expect(locked).rejects.toMatchObject({ code: 'unauthorized', message: expect.stringContaining('is locked') })
    await expect(keyFor(home, { baseUrl: OURS }, {}, noKeyring)).rejects.toMatchObject({
      code: 'unauthorized',
      hint: expect.stringContaining('--store file'),
    })
    keyring.entries.clear()
    await expect(keyFor(home, { baseUrl: OURS }, {}, async () => keyring)).rejects.toMatchObject({
      message: expect.stringContaining('no longer has an API key'),
      hint: expect.stringContaining('gdn auth login'),
    })
  })

  test('is removed from the keyring on removal, and stays listed if that fails', async () => {
    const { env, keyring, open } = await withKey()
    await expect(forgetApiKey(env, OURS, async () => lockedKeyring())).rejects.toThrow('is locked')
    expect(await listSavedOrigins(env)).toHaveLength(1)
    expect(await forgetApiKey(env, OURS, open)).toBe('keyring')
    expect(keyring.entries.size).toBe(0)
    expect(await listSavedOrigins(env)).toEqual([])
  })

  test('is not recorded if the keyring does not return it', async () => {
    const home = await makeHome()
    const forgetful = { ...memoryKeyring(), get: async () => null }
    await expect(saveApiKey({ HOME: home.dir }, OURS, new Secret(KEY), forgetful)).rejects.toThrow('did not store')
    expect(await listSavedOrigins({ HOME: home.dir })).toEqual([])
  })
})

describe('the keyring package', () => {
  test('gets the origin as the account, and on Linux the Secret Service, which survives a restart', async () => {
    const made: unknown[] = []
    const native: NativeKeyring = {
      AsyncEntry: class {
        constructor(...args: unknown[]) {
          made.push(args)
        }
        getPassword = async () => KEY
        setPassword = async () => {}
        deletePassword = async () => true
      },
    }
    const keyring = await openKeyring({}, () => native)
    expect((await keyring.get(OURS))?.reveal()).toBe(KEY)
    expect(made).toEqual([['gdn', OURS, { linux: { store: 'secret-service' } }]])
  })

  test('is not loaded with GDN_KEYRING=off, and a missing package is reported with the command to install it', async () => {
    const load = () => {
      throw new Error("Cannot find module '@napi-rs/keyring'\nRequire stack: …")
    }
    await expect(openKeyring({}, load)).rejects.toMatchObject({
      code: 'native_missing',
      message: expect.not.stringContaining('Require stack'),
      hint: expect.stringContaining('npm install @napi-rs/keyring@2'),
    })
    await expect(openKeyring({ GDN_KEYRING: 'off' }, load)).rejects.toThrow('GDN_KEYRING=off')
  })
})
