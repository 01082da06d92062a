/** @module-tag slow */
import { randomBytes } from 'node:crypto'
import { Wallet as OtherWallet } from '@ethereumjs/wallet'
import { encryptKeystoreJson, Wallet } from 'ethers'
import { describe, expect, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { decrypt, openKeystore } from '../../src/keystore/open.ts'
import { parseKeystore } from '../../src/keystore/parse.ts'
import { newPasswordProblem, parsePassword, passwordProblem } from '../../src/keystore/password.ts'
import { deriveAddress, privateKeyBytes, readPrivateKey } from '../../src/keystore/private-key.ts'
import { prepareSeal } from '../../src/keystore/seal.ts'
import { LIGHT, VECTORS } from './vectors.ts'

// Other libraries need seconds with the production cost. A test with ethers uses it (test/e2e/wallet.test.ts).
const COST = { n: 4096, r: 8, p: 1 }
vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 4096, r: 8, p: 1 } as never,
}))

const KEY = new Secret(`0x${'4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'}`)
const ADDRESS = '0x2c7536e3605d9c16a7a3d7b1898e529396a65c23'
const PASSWORD = new Secret('correct horse battery staple')
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'

async function sealed(password = PASSWORD): Promise<string> {
  const seal = await prepareSeal(password)
  try {
    return seal.sealKeystore(KEY, ADDRESS)
  } finally {
    seal.wipe()
  }
}

const byEthers = (password: string) => encryptKeystoreJson(new Wallet(KEY.reveal()), password, { scrypt: { N: 1024 } })

const faultOf = (text: string): GdnError => {
  try {
    parseKeystore(text, 'k.json')
  } catch (error) {
    if (error instanceof GdnError) return error
    throw error
  }
  throw new Error('it was taken')
}

/** The light keystore with one member changed. The value undefined removes it. */
function changed(path: string, value: unknown): string {
  const json = structuredClone<unknown>(LIGHT.json) as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop() ?? ''
  const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, json)
  parent[last] = value
  return JSON.stringify(json)
}

describe('reading', () => {
  test.each(VECTORS.filter(({ key }) => key !== ''))('opens $name', async ({ json, password, key, address }) => {
    const opened = await openKeystore(JSON.stringify(json), new Secret(password), 'vector')
    expect(opened.privateKey.reveal()).toBe(`0x${key}`)
    expect(opened.address).toBe(address)
  })

  test.each(VECTORS.filter(({ json }) => 'address' in json))('opens $name and verifies its address', async (vector) => {
    const opened = await openKeystore(JSON.stringify(vector.json), new Secret(vector.password), 'vector')
    expect(opened.address).toBe(vector.address)
  })

  test('opens a keystore written by ethers', async () => {
    const text = await byEthers(PASSWORD.reveal())
    expect(await openKeystore(text, PASSWORD, 'ethers')).toMatchObject({ address: ADDRESS })
  })

  test.each(['scrypt', 'pbkdf2'] as const)('opens a keystore written by another library with %s', async (kdf) => {
    const other = OtherWallet.fromPrivateKey(privateKeyBytes(KEY))
    const text = await other.toV3String(PASSWORD.reveal(), { kdf, n: 1024, c: 1000 })
    const { address, privateKey } = await openKeystore(text, PASSWORD, 'other')
    expect([address, privateKey.reveal()]).toEqual([ADDRESS, KEY.reveal()])
  })

  test('accepts another Unicode form of a composed password', async () => {
    const text = await byEthers('cafe\u0301')
    expect(parseKeystore(text, 'k').address).toBe(ADDRESS)
    expect(await openKeystore(text, new Secret('cafe\u0301'), 'k')).toMatchObject({ address: ADDRESS })
    expect(await openKeystore(text, new Secret('caf\u00e9'), 'k')).toMatchObject({ address: ADDRESS })
  })

  test('reports a wrong password without quoting it', async () => {
    const failure = openKeystore(JSON.stringify(LIGHT.json), new Secret('fool'), 'k.json')
    await expect(failure).rejects.toMatchObject({ code: 'invalid_input', place: { file: 'k.json' } })
    await expect(failure).rejects.toThrow(/^the password is wrong/)
  })

  test('rejects a key that does not match the address in the file', async () => {
    const text = changed('address', ADDRESS.slice(2))
    await expect(openKeystore(text, new Secret('foo'), 'k')).rejects.toThrow(LIGHT.address)
  })

  test('accepts an address that is missing or has 0x', async () => {
    expect(parseKeystore(changed('address', undefined), 'k').address).toBeNull()
    expect(parseKeystore(changed('address', `0x${ADDRESS.slice(2).toUpperCase()}`), 'k').address).toBe(ADDRESS)
  })

  test('never returns another key if a bit of ciphertext, salt, iv or mac changed', async () => {
    for (const path of ['crypto.ciphertext', 'crypto.mac', 'crypto.kdfparams.salt']) {
      const flipped = flip(path)
      await expect(openKeystore(flipped, new Secret('foo'), 'k'), path).rejects.toThrow('the password is wrong')
    }
    // Version 3 doesn't authenticate the iv, but the address in the file does.
    const json = JSON.parse(flip('crypto.cipherparams.iv'))
    const text = JSON.stringify({ ...json, address: LIGHT.address })
    await expect(openKeystore(text, new Secret('foo'), 'k')).rejects.toThrow('but its key belongs to')
  })
})

function flip(path: string): string {
  const digits = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], LIGHT.json) as string
  return changed(path, `${digits.slice(0, 5)}${digits[5] === '0' ? '1' : '0'}${digits.slice(6)}`)
}

describe('writing', () => {
  test('ethers opens the result', async () => {
    const wallet = Wallet.fromEncryptedJsonSync(await sealed(), PASSWORD.reveal())
    expect([wallet.address.toLowerCase(), wallet.privateKey]).toEqual([ADDRESS, KEY.reveal()])
  })

  test('another library opens the result', async () => {
    const wallet = await OtherWallet.fromV3(await sealed(), PASSWORD.reveal())
    expect(wallet.getPrivateKeyString()).toBe(KEY.reveal())
  })

  test('uses the format of geth: scrypt with n=262144, r=8, p=1, and an address without 0x', async () => {
    const { address, version, id, crypto } = JSON.parse(await sealed())
    expect({ address, version }).toEqual({ address: ADDRESS.slice(2), version: 3 })
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(crypto).toMatchObject({ cipher: 'aes-128-ctr', kdf: 'scrypt' })
    const { DEFAULT_SCRYPT } =
      await vi.importActual<typeof import('../../src/keystore/limits.ts')>('../../src/keystore/limits.ts')
    expect(DEFAULT_SCRYPT).toEqual({ n: 262144, r: 8, p: 1 })
    expect(crypto.kdfparams).toMatchObject({
      ...COST,
      dklen: 32,
      salt: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('uses a new salt, iv and id each time', async () => {
    const [a, b] = [JSON.parse(await sealed()), JSON.parse(await sealed())]
    expect(a.crypto.kdfparams.salt).not.toBe(b.crypto.kdfparams.salt)
    expect(a.crypto.cipherparams.iv).not.toBe(b.crypto.cipherparams.iv)
    expect(a.id).not.toBe(b.id)
  })

  test('encrypts any bytes, which cannot be opened as a wallet', async () => {
    const content = randomBytes(1000)
    const seal = await prepareSeal(PASSWORD)
    const text = seal.sealBytes(content)
    expect(await decrypt(parseKeystore(text, 'k'), PASSWORD, 'k')).toEqual(content)
    await expect(openKeystore(text, PASSWORD, 'k')).rejects.toThrow('something other than a private key')
  })
})

describe('rejects hostile parameters before using memory or time', () => {
  const scrypt = (more: object) => changed('crypto.kdfparams', { ...LIGHT.json.crypto.kdfparams, ...more })
  const pbkdf2 = (more: object) =>
    changed('crypto', {
      ...LIGHT.json.crypto,
      kdf: 'pbkdf2',
      kdfparams: { c: 1000, dklen: 32, prf: 'hmac-sha256', salt: '00', ...more },
    })
  const cases: [string, string][] = [
    ['an n that needs a terabyte', scrypt({ n: 2 ** 30 })],
    ['an n beyond 32 bits', scrypt({ n: 2 ** 40 })],
    ['an n beyond exact integers', scrypt({ n: 2 ** 60 })],
    ['a large n and r', scrypt({ n: 2 ** 20, r: 1024 })],
    ['a huge r', scrypt({ r: 2 ** 30 })],
    ['a huge p', scrypt({ p: 2 ** 30 })],
    ['a p of many rounds', scrypt({ n: 262144, r: 8, p: 64 })],
    ['an n that is not a power of two', scrypt({ n: 1000 })],
    ['an n of one', scrypt({ n: 1 })],
    ['an n of zero', scrypt({ n: 0 })],
    ['a negative n', scrypt({ n: -2 })],
    ['an n with a fraction', scrypt({ n: 2.5 })],
    ['an n in a string', scrypt({ n: '262144' })],
    ['an n in a list', scrypt({ n: [2] })],
    ['no n', scrypt({ n: undefined })],
    ['a null r', scrypt({ r: null })],
    ['a dklen of a gigabyte', scrypt({ dklen: 2 ** 30 })],
    ['a short dklen', scrypt({ dklen: 16 })],
    ['a salt that is not hex', scrypt({ salt: 'zz' })],
    ['half a byte of salt', scrypt({ salt: '000' })],
    ['no salt', scrypt({ salt: '' })],
    ['a long salt', scrypt({ salt: '00'.repeat(1025) })],
    ['a huge c', pbkdf2({ c: 2 ** 31 })],
    ['a c of zero', pbkdf2({ c: 0 })],
    ['a negative c', pbkdf2({ c: -1 })],
    ['another hash', pbkdf2({ prf: 'hmac-sha512' })],
    ['another kdf', changed('crypto.kdf', 'argon2id')],
    ['kdfparams of the other kdf', changed('crypto.kdf', 'pbkdf2')],
    ['another cipher', changed('crypto.cipher', 'aes-128-cbc')],
    ['an iv of 15 bytes', changed('crypto.cipherparams.iv', '00'.repeat(15))],
    ['a mac of 31 bytes', changed('crypto.mac', '00'.repeat(31))],
    ['another version', changed('version', 4)],
    ['a version in a string', changed('version', '3')],
    ['no crypto', changed('crypto', undefined)],
    ['crypto twice', changed('Crypto', LIGHT.json.crypto)],
    ['an invalid address', changed('address', '0x12')],
    ['n twice', JSON.stringify(LIGHT.json).replace('"n":2', '"n":2,"n":1073741824')],
    ['n twice, once escaped', JSON.stringify(LIGHT.json).replace('"n":2', '"n":2,"\\u006e":1073741824')],
    ['__proto__', JSON.stringify(LIGHT.json).replace('"n":2', '"__proto__":{"n":2}')],
    ['an n of infinity', JSON.stringify(LIGHT.json).replace('"n":2', '"n":1e400')],
    ['a million levels', `${'['.repeat(1_000_000)}`],
    ['a text longer than any keystore', JSON.stringify({ ...LIGHT.json, pad: 'x'.repeat(300_000) })],
    ['a byte order mark', `\ufeff${JSON.stringify(LIGHT.json)}`],
    ['a list', '[]'],
    ['null', 'null'],
    ['nothing', ''],
  ]

  test.each(cases)('%s', async (_what, text) => {
    const before = process.memoryUsage().rss
    const started = process.cpuUsage()
    expect(faultOf(text)).toMatchObject({ code: 'invalid_input', place: { file: 'k.json' } })
    await expect(openKeystore(text, new Secret('foo'), 'k.json')).rejects.toBeInstanceOf(GdnError)
    // Each of these would take gigabytes or minutes.
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(2000)
  })
})

describe('private keys', () => {
  test.each([
    ['1', '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'],
    [`${ORDER.slice(0, -1)}0`, '0x80c0dbf239224071c59dd8970ab9d542e3414ab2'],
    ['0', null],
    [ORDER, null],
    ['f'.repeat(64), null],
  ])('the number %s has the address %s', (digits, address) => {
    expect(deriveAddress(Buffer.from(digits.padStart(64, '0'), 'hex'))).toBe(address)
  })

  test('accepts the two spellings that servers use, and no other', () => {
    const digits = KEY.reveal().slice(2)
    expect(readPrivateKey(digits.toUpperCase())?.reveal()).toBe(KEY.reveal())
    expect(readPrivateKey(KEY.reveal())?.reveal()).toBe(KEY.reveal())
    for (const text of ['', '0x', digits.slice(1), `${digits}0`, ` ${digits}`, `${digits}\n`, `0X${digits}`]) {
      expect(readPrivateKey(text), JSON.stringify(text)).toBeNull()
    }
  })
})

describe('passwords', () => {
  test.each(['', 'a\nb', 'a\0', 'x'.repeat(4097)])('%j is rejected', (text) => {
    expect(passwordProblem(text)).not.toBeNull()
  })

  test('a new one that is not in composed form is rejected, because wallets read it differently', () => {
    expect(newPasswordProblem('caf\u00e9 \u{1F600} au lait')).toBeNull()
    expect(newPasswordProblem('cafe\u0301')).toContain('some wallets encode differently')
    expect(newPasswordProblem('\uff11')).toContain('some wallets encode differently')
  })

  test('a password file has one line, and its spaces belong to the password', () => {
    expect(parsePassword(' a b \r\n', 'p', passwordProblem).reveal()).toBe(' a b ')
    expect(() => parsePassword('a\nb\n', 'p', passwordProblem)).toThrow('one line')
    expect(() => parsePassword('\n', 'p', passwordProblem)).toThrow('empty')
  })
})
