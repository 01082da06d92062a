import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeHome, noKeyring } from './home.ts'

const A = 'https://a.test'
const B = 'https://b.test'
/** A contract address that differs for each number. */
const contractOf = (n: number) => `0x${String(n).repeat(40)}`
const C = contractOf(1)

describe('flags override the environment, which overrides the project, which overrides the user', () => {
  const user = { profile: 'main', profiles: { main: { contract: C, blockchain: 'astar', wallet: '@w', rate: 1 } } }

  test('for each setting, and each names its source', async () => {
    const home = await makeHome()
    await home.user(user)
    expect((await home.settings()).contract).toEqual({ value: C, from: 'profile main' })
    const file = await home.write('project/gdn.config.json', { contract: contractOf(2) })
    expect((await home.settings()).contract).toEqual({ value: contractOf(2), from: file })
    const env = { GDN_CONTRACT: contractOf(3) }
    expect((await home.settings({}, env)).contract).toEqual({ value: contractOf(3), from: 'GDN_CONTRACT' })
    expect((await home.settings({ contract: 'flag' }, env)).contract).toEqual({ value: 'flag', from: '--contract' })
  })

  test('a lower level supplies what a higher level omits', async () => {
    const home = await makeHome()
    await home.user(user)
    await home.write('project/gdn.config.json', { blockchain: 'polygon' })
    const { contract, blockchain, wallet, rate } = await home.settings({}, { GDN_BLOCKCHAIN: 'fantom' })
    expect([contract?.value, blockchain?.value, wallet?.value, rate?.value]).toEqual([C, 'fantom', '@w', 1])
  })

  test('a flag overrides the environment, the project and the user for the server', async () => {
    const home = await makeHome()
    const baseUrl = async (...given: Parameters<typeof home.settings>) => (await home.settings(...given)).baseUrl?.value
    await home.user({ profiles: { default: { base_url: 'https://user.test' }, x: { base_url: 'https://x.test' } } })
    expect(await baseUrl()).toBe('https://user.test')
    await home.write('project/.gdnrc', 'base_url: https://project.test')
    expect(await baseUrl()).toBe('https://project.test')
    expect(await baseUrl({}, { GDN_PROFILE: 'x' })).toBe('https://x.test')
    expect(await baseUrl({}, { GDN_PROFILE: 'x', GDN_BASE_URL: A })).toBe(A)
    expect(await baseUrl({ profile: 'x' }, { GDN_BASE_URL: A })).toBe('https://x.test')
    expect(await baseUrl({ profile: 'x', baseUrl: B }, { GDN_BASE_URL: A })).toBe(B)
    expect(await baseUrl({ local: true }, { GDN_BASE_URL: A })).toBeUndefined()
  })
})

test('does not use the collection of one server with another', async () => {
  const home = await makeHome()
  await home.user({ profile: 'main', profiles: { main: { base_url: A, contract: C, wallet: '@w' } } })
  expect((await home.settings()).contract?.value).toBe(C)
  const elsewhere = await home.settings({ baseUrl: B })
  expect([elsewhere.contract, elsewhere.wallet?.value]).toEqual([null, '@w'])
  expect((await home.settings({ local: true })).contract).toBeNull()
})

test('uses the local backend for the built-in profile local', async () => {
  const home = await makeHome()
  await expect((await home.settings({ profile: 'local' })).server()).rejects.toMatchObject({ code: 'unreachable' })
})

test('reports an unknown profile, and suggests the nearest', async () => {
  const home = await makeHome()
  await home.user({ profiles: { production: { base_url: A } } })
  await expect(home.settings({ profile: 'producton' })).rejects.toMatchObject({
    code: 'usage',
    hint: 'Did you mean production?',
  })
})

test('searches for the project file upwards, up to the root of the repository', async () => {
  const home = await makeHome()
  const deep = join(home.project, 'a', 'b')
  await mkdir(deep, { recursive: true })
  await home.write('gdn.config.json', { contract: contractOf(1) })
  const { loadSettings } = await import('../../src/config/settings.ts')
  const at = () => loadSettings({ flags: {}, env: { HOME: home.dir }, cwd: deep, openKeyring: noKeyring })
  expect((await at()).contract).toBeNull()
  await home.write('project/gdn.config.json', { contract: contractOf(2) })
  expect((await at()).contract?.value).toBe(contractOf(2))
})

test.each([
  ['.gdnrc', `contract: "${C}"`],
  ['.gdnrc', `{"contract": "${C}"}`],
  ['.gdnrc.json', `{\t"contract": "${C}"}`],
  ['.gdnrc.yaml', `contract: "${C}"`],
  ['gdn.config.json', `{"contract": "${C}"}`],
  ['gdn.config.yaml', `contract: "${C}"`],
  ['package.json', `{"name": "x", "gdn": {"contract": "${C}"}}`],
])('reads %s: %j', async (name, text) => {
  const home = await makeHome()
  await home.write(`project/${name}`, text)
  expect((await home.settings()).contract?.value).toBe(C)
})

test('rejects a wrong address in GDN_CONTRACT, unless a flag overrides it', async () => {
  const home = await makeHome()
  const env = { GDN_CONTRACT: 'Lamps' }
  await expect(home.settings({}, env)).rejects.toMatchObject({
    code: 'usage',
    place: { flag: 'GDN_CONTRACT' },
    message: expect.stringContaining('"Lamps" is neither an EVM address'),
    hint: 'Set GDN_CONTRACT to the address of a collection, or unset it.',
  })
  expect((await home.settings({ contract: C }, env)).contract?.value).toBe(C)
})

test('does not read JavaScript, which would be executed', async () => {
  const home = await makeHome()
  for (const name of ['gdn.config.js', '.gdnrc.cjs', 'gdn.config.ts', 'gdn.config.mjs']) {
    await home.write(`project/${name}`, 'throw new Error("run")')
  }
  expect((await home.settings()).projectFile).toBeNull()
})

describe('rejects an invalid file with its name and place', () => {
  test.each([
    ['gdn.config.json', '\ufeff{}', 'byte order mark'],
    ['gdn.config.yaml', '\ufeffcontract: c', 'byte order mark'],
    ['gdn.config.json', '{"contract": "a", "contract": "b"}', '"contract" is repeated'],
    ['gdn.config.yaml', 'contract: a\ncontract: b', 'duplicated mapping key'],
    ['gdn.config.json', '{"__proto__": {"contract": "a"}}', '"__proto__" is not allowed'],
    ['gdn.config.json', '{"\\u005f_proto__": {}}', '"__proto__" is not allowed'],
    ['gdn.config.yaml', 'contract:\n\ta: b', 'tab'],
    ['gdn.config.json', '{"contract": }', 'where a value is expected'],
    ['gdn.config.json', '{"contract": "a"} x', 'text after the end'],
    ['gdn.config.json', '[]', 'must be an object'],
    ['gdn.config.json', '{"contrct": "a"}', 'is not a known setting'],
    ['gdn.config.json', '{"blockchain": "polygn"}', 'is not a known blockchain (did you mean polygon?)'],
    ['gdn.config.json', '{"rate": 1e400}', 'must be a positive number'],
    ['gdn.config.json', '{"contract": "x"}', '"x" is neither an EVM address'],
    ['gdn.config.json', '{"contract": "0x12"}', 'must have 40 hex digits after 0x'],
    ['gdn.config.json', '{"wallet": "x"}', '"x" is neither an EVM address'],
    ['gdn.config.json', '{"rate": -1}', 'must be a positive number'],
    ['gdn.config.json', '{"base_url": "ftp://x"}', 'must be an http(s) URL'],
    ['gdn.config.json', '{"api_key": "k"}', 'an API key is not allowed here'],
    ['gdn.config.json', '['.repeat(100_000), 'nested deeper'],
    ['package.json', '{"gdn": {"contrct": "a"}}', 'is not a known setting'],
  ])('%s %j', async (name, text, message) => {
    const home = await makeHome()
    const file = await home.write(`project/${name}`, text)
    const error = await home.settings().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'invalid_config', message: expect.stringContaining(message), place: { file } })
  })

  test('reports line and column', async () => {
    const home = await makeHome()
    const file = await home.user('{\n  "profile": "a",\n  "profile": "b"\n}')
    await expect(home.settings()).rejects.toMatchObject({ place: { file, line: 3, column: 3 } })
  })

  test('rejects a billion-laughs anchor without expanding it', async () => {
    const home = await makeHome()
    const levels = Array.from(
      { length: 30 },
      (_, i) => `a${i}: &a${i} [${Array(9).fill(i === 0 ? 'ha' : `*a${i - 1}`)}]`,
    )
    await home.write('project/gdn.config.yaml', levels.join('\n'))
    await expect(home.settings()).rejects.toMatchObject({ code: 'invalid_config' })
  })

  test('rejects a directory and a large file as configuration', async () => {
    const home = await makeHome()
    await mkdir(join(home.project, 'gdn.config.json'))
    await expect(home.settings()).rejects.toMatchObject({ message: expect.stringContaining('directory') })
  })

  test('suggests the nearest setting for an unknown one', async () => {
    const home = await makeHome()
    await home.user({ profiles: { main: { base_ulr: A } } })
    await expect(home.settings()).rejects.toMatchObject({ hint: 'Did you mean base_url?' })
  })
})
