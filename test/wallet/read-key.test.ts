/** @module-tag slow */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { base58btc } from 'multiformats/bases/base58'
import { english, generateMnemonic, mnemonicToAccount, privateKeyToAddress } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { deriveKeypair } from '../../src/keystore/solana-key.ts'
import { parsePath } from '../../src/wallet/derivation-path.ts'
import { ed25519Seed } from '../../src/wallet/mnemonic.ts'
import { generateKey } from '../../src/wallet/new-key.ts'
import { looksLikeKey, parsePrivateKey } from '../../src/wallet/read-key.ts'
import { runs } from '../helpers/runs.ts'

const JUNK = 'test test test test test test test test test test test junk'
const ABANDON = `${'abandon '.repeat(11)}about`
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'

const read = (text: string, kind: 'evm' | 'solana' = 'evm', path?: string) =>
  parsePrivateKey(text, 'stdin', { kind, path })

async function rejection(text: string): Promise<GdnError> {
  const error: unknown = await read(text).catch((reason: unknown) => reason)
  if (error instanceof GdnError && error.code === 'invalid_input') return error
  throw new Error(`not rejected: ${String(error)}`)
}

const problemOf = async (text: string) => (await rejection(text)).message

describe('a mnemonic', () => {
  // Published: by Hardhat and Foundry, and by Trezor and Phantom for the first mnemonic of BIP-39.
  test.each([
    [JUNK, 'evm', undefined, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    [JUNK, 'evm', "m/44'/60'/0'/0/1", '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    [JUNK, 'evm', 'm/44h/60h/0h/0/1', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    [ABANDON, 'evm', undefined, '0x9858EfFD232B4033E47d90003D41EC34EcaEda94'],
    [ABANDON, 'solana', undefined, 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk'],
  ] as const)('%s on %s with the path %s has its published address', async (words, kind, path, address) => {
    expect((await read(words, kind, path)).address).toBe(address)
  })

  test('is read in any case, and with any white space between its words', async () => {
    const { address } = await read(JUNK)
    expect((await read(`\ufeff${JUNK.toUpperCase().replaceAll(' ', ' \r\n\t')}\n`)).address).toBe(address)
  })

  test('has the address that viem derives', async () => {
    for (let i = 0; i < 5; i++) {
      const words = generateMnemonic(english, i % 2 === 0 ? 128 : 256)
      const path = `m/44'/60'/${i}'/0/${i * 7}` as const
      expect((await read(words, 'evm', path)).address).toBe(mnemonicToAccount(words, { path }).address)
    }
  })

  test.each([
    ['11 words', JUNK.split(' ').slice(1).join(' '), 'has 11 words: a mnemonic has 12, 15, 18, 21 or 24'],
    ['a misspelled first word', JUNK.replace('test', 'tset'), 'not in the English list of BIP-39: word 1 of 12'],
    ['a misspelled word', JUNK.replace('junk', 'jumk'), 'not in the English list of BIP-39: word 12 of 12'],
    ['a wrong checksum', JUNK.replace('junk', 'about'), 'wrong checksum'],
    ['two words in another order', `junk ${JUNK.slice(0, -5)}`, 'wrong checksum'],
  ])('with %s is rejected, and no word is repeated', async (_what, text, said) => {
    const problem = await problemOf(text)
    expect(problem).toContain(said)
    for (const word of text.split(' ')) expect(problem.split(/\W+/)).not.toContain(word)
  })
})

// SLIP-10, test vector 1 for Ed25519.
test.each([
  ['m', '2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7'],
  ["m/0'", '68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3'],
  ["m/0'/1'/2'/2'/1000000000'", '8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793'],
])('derives %s as SLIP-10 does', (path, key) => {
  const parts = path === 'm' ? [] : (parsePath(path) ?? [])
  const seed = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
  expect(Buffer.from(ed25519Seed(seed, parts)).toString('hex')).toBe(key)
})

describe('a derivation path', () => {
  test.each(["m/44'/60'/0'/0/0", "m/44'/501'/0'/0'", 'm/0', `m/${2 ** 31 - 1}'`])('accepts %s', (path) => {
    expect(parsePath(path)).not.toBeNull()
  })

  test.each([
    '',
    'm',
    'm/',
    "44'/60'",
    "M/44'",
    'xm/0',
    `m/0/${2 ** 31}`,
    'm/00',
    'm/-1',
    "m/44''",
    'm/0x1',
    `m/${2 ** 31}`,
    'm/1e3',
    'm/1 ',
    `m${'/0'.repeat(11)}`,
  ])('rejects %j', (path) => expect(parsePath(path)).toBeNull())
})

describe('a private key', () => {
  test.each([KEY, KEY.slice(2), KEY.toUpperCase().replace('0X', '0x'), ` ${KEY}\r\n`])(
    'of EVM is read as %j',
    async (text) => {
      const { address, privateKey } = await read(text)
      expect([address, privateKey.reveal()]).toEqual([privateKeyToAddress(KEY), KEY])
    },
  )

  test('a private key of Solana is read in base58 and as a keypair file', async () => {
    const { address, privateKey } = generateKey('solana')
    const bytes = base58btc.baseDecode(privateKey.reveal())
    for (const text of [privateKey.reveal(), JSON.stringify([...bytes]), JSON.stringify([...bytes], null, 2)]) {
      const key = await read(text)
      expect([key.address, key.privateKey.reveal()]).toEqual([address, privateKey.reveal()])
    }
  })

  const bytes = () => [...base58btc.baseDecode(generateKey('solana').privateKey.reveal())]
  test.each([
    ['nothing', ' \n', 'is empty'],
    ['63 digits', KEY.slice(0, -1), 'has 63 hex digits: an EVM private key has 64'],
    ['65 digits', `${KEY}0`, 'has 65 hex digits'],
    ['zero', `0x${'0'.repeat(64)}`, 'too large for secp256k1'],
    ['the order of the curve', ORDER, 'too large for secp256k1'],
    ['the largest number', 'f'.repeat(64), 'too large for secp256k1'],
    ['an address', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'is an EVM address, not its private key'],
    ['an address of Solana', generateKey('solana').address, 'is a Solana address'],
    ['another character', `${KEY.slice(0, -1)}g`, 'is not in a key format that gdn supports'],
    ['a megabyte', 'k'.repeat(2 ** 20), 'is too large for a key'],
    ['a word', 'password', 'is not in a key format that gdn supports'],
    ['a list of 63 numbers', JSON.stringify(bytes().slice(1)), 'is not a Solana keypair'],
    ['a number above 255', JSON.stringify([256, ...bytes().slice(1)]), 'is not a Solana keypair'],
    ['a fraction', JSON.stringify([0.5, ...bytes().slice(1)]), 'is not a Solana keypair'],
    ['two keys mixed', JSON.stringify([...bytes().slice(0, 32), ...bytes().slice(32)]), 'does not match'],
    ['a truncated list', JSON.stringify(bytes()).slice(0, -20), 'ends where'],
  ])('with %s is rejected', async (_what, text, said) => {
    expect(await problemOf(text)).toContain(said)
  })
})

test('a keypair with the byte 255 is read, and one with -1 in its place is rejected', async () => {
  const keypair = [...deriveKeypair(new Uint8Array(32).fill(255))]
  const { address } = await read(JSON.stringify(keypair))
  expect(address).toBe(base58btc.baseEncode(Uint8Array.from(keypair.slice(32))))
  expect(await problemOf(JSON.stringify([-1, ...keypair.slice(1)]))).toContain('is not a Solana keypair')
})

test('a rejection has the name of the text, and a hint where the fix is not obvious', async () => {
  expect(await rejection('password')).toMatchObject({
    place: { file: 'stdin' },
    hint: expect.stringContaining('Pass a'),
  })
  expect(await rejection(KEY.slice(0, -1))).toMatchObject({ place: { file: 'stdin' }, hint: undefined })
})

test('a text that was read as a key is redacted in every message, also if it is none', async () => {
  const almost = randomBytes(33).toString('hex')
  await rejection(almost)
  expect(new GdnError('unexpected', `a library failed at ${almost}`).message).not.toContain(almost)
})

test('any text is read or rejected, without a part of it in the message', async () => {
  const words = fc.array(fc.constantFrom(...english), { minLength: 1, maxLength: 25 }).map((all) => all.join(' '))
  const base58 = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{0,100}$/)
  const list = fc.array(fc.integer({ min: -1, max: 256 }), { maxLength: 70 }).map((all) => JSON.stringify(all))
  const text = fc.oneof(words, base58, list, fc.stringMatching(/^(0x)?[0-9a-fA-F]{60,68}$/), fc.string(), fc.json())
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom('evm' as const, 'solana' as const), async (given, kind) => {
      try {
        await read(given, kind)
      } catch (error) {
        if (!(error instanceof GdnError) || error.code !== 'invalid_input') throw error
        const secret = given.trim()
        if (secret.length > 8) expect(`${error.message} ${error.hint}`).not.toContain(secret)
      }
    }),
    { numRuns: runs(1_000) },
  )
})

test('a keypair with any byte changed is rejected or has another address', async () => {
  const { address, privateKey } = generateKey('solana')
  const good = [...base58btc.baseDecode(privateKey.reveal())]
  await fc.assert(
    fc.asyncProperty(fc.nat(63), fc.nat(255), async (at, value) => {
      const changed = good.map((byte, i) => (i === at ? value : byte))
      const key = await read(JSON.stringify(changed)).catch(() => null)
      expect(key?.address ?? null).toBe(value === good[at] ? address : null)
    }),
    { numRuns: runs(200) },
  )
})

test('a short text that is no key is not redacted in its error', async () => {
  const error: unknown = await read('private key').catch((reason: unknown) => reason)
  expect((error as GdnError).message).toBe('has 2 words: a mnemonic has 12, 15, 18, 21 or 24')
  expect(new GdnError('usage', 'pass a private key').message).toBe('pass a private key')
})

test('recognizes a key or mnemonic in an argument, and no name of a file', () => {
  for (const key of [KEY, KEY.slice(2), generateKey('solana').privateKey.reveal(), JUNK, ABANDON]) {
    expect(looksLikeKey(key), key).toBe(true)
  }
  for (const file of [
    'key.json',
    '/home/me/.config/solana/id.json',
    './deployer',
    'my key file.json',
    `${'a'.repeat(64)}.json`,
  ]) {
    expect(looksLikeKey(file), file).toBe(false)
  }
})
