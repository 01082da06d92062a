import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { TransportResponse } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { decrypt, openKeystore } from '../../src/keystore/open.ts'
import { parseKeystore } from '../../src/keystore/parse.ts'
import { prepareSeal } from '../../src/keystore/seal.ts'
import { type GenerateOptions, generateWallet, SET_ASIDE_FOLDER } from '../../src/wallet/generate.ts'
import { reserve } from '../../src/wallet/reservation.ts'
import { spellings } from '../helpers/leaks.ts'
import { answerOf } from '../helpers/wallet-service.ts'

vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const KEY = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const ADDRESS = '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23'
const OTHER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const ADDRESS_OF_11 = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'
const PASSWORD = new Secret('correct horse')
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'

let home: string
let folder: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gdn-wallets-'))
  folder = join(home, 'wallets')
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
})

const answer = (body: unknown, status = 200): TransportResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

interface Made {
  calls: number
  result: Promise<Awaited<ReturnType<typeof generateWallet>>>
}

/** Generates a wallet with the given response of the service. */
async function make(reply: () => TransportResponse, more: Partial<GenerateOptions> = {}): Promise<Made> {
  const made: Made = { calls: 0, result: Promise.reject() }
  made.result.catch(() => {})
  made.result = generateWallet({
    source: {
      signedUrl: async () => new URL('https://wallet.example/v1/wallet/create?signature=5161a7'),
      async call() {
        made.calls++
        return reply()
      },
    },
    reservation: more.reservation ?? (await reserve(folder, 'alice')),
    folder,
    password: PASSWORD,
    otherFolders: [join(home, 'not-there'), home],
    signal: new AbortController().signal,
    ...more,
  })
  await made.result.catch(() => {})
  return made
}

async function failure({ result }: Made): Promise<GdnError> {
  const error: unknown = await result.catch((reason: unknown) => reason)
  if (error instanceof GdnError) return error
  throw new Error(`no GdnError: ${JSON.stringify(error)}`)
}

const told = ({ message, hint, details }: GdnError) => JSON.stringify([message, hint, details])

describe('a response with a valid key', () => {
  test.each([
    ['an address in its checksum spelling', ADDRESS, KEY],
    ['an address in lower case', ADDRESS.toLowerCase(), KEY],
    ['a key without 0x', ADDRESS, KEY.slice(2)],
    ['a key in upper case', ADDRESS, `0x${KEY.slice(2).toUpperCase()}`],
  ])('creates a keystore that opens, for %s', async (_what, address, private_key) => {
    const { result } = await make(() => answer(answerOf({ address, private_key })))
    const { file, ...wallet } = await result
    expect(wallet).toMatchObject({ name: 'alice', address: ADDRESS })
    expect(file).toBe(join(folder, 'alice.json'))
    expect(readdirSync(folder)).toEqual(['alice.json'])
    const { privateKey } = await openKeystore(readFileSync(file, 'utf8'), PASSWORD, file)
    expect(privateKey.reveal()).toBe(KEY)
  })

  test('is overwritten in memory afterwards', async () => {
    const given = answer(answerOf({ address: ADDRESS, private_key: KEY }))
    await (await make(() => given)).result
    expect([...new Set(given.body)]).toEqual([0])
  })
})

describe('a 2xx response without a valid wallet is set aside, encrypted, and none of it is shown', () => {
  test.each([
    ['text that is not JSON', `<html>${KEY}`],
    ['truncated JSON', JSON.stringify(answerOf({ address: ADDRESS, private_key: KEY })).slice(0, -4)],
    ['another form', { wallet: { address: ADDRESS, privateKey: KEY } }],
    ['a key of 31 bytes', answerOf({ address: ADDRESS, private_key: KEY.slice(0, -2) })],
    ['a key of zero', answerOf({ address: ADDRESS, private_key: `0x${'0'.repeat(64)}` })],
    ['a key of the order of the curve', answerOf({ address: ADDRESS, private_key: ORDER })],
    ['a key above the order', answerOf({ address: ADDRESS, private_key: 'f'.repeat(64) })],
    ['the key of another address', answerOf({ address: OTHER, private_key: KEY })],
    ['words instead of a key', answerOf({ address: ADDRESS, private_key: 'abandon ability able' })],
    ['a Solana wallet', answerOf({ address: '4Nd1mYQzvgV8Vr3Z3nYb7pD6T8K2jF2eqWxY1vC4mQ5R', private_key: KEY })],
  ])('%s', async (_what, body) => {
    const made = await make(() => answer(body))
    const error = await failure(made)
    expect(error.code).toBe('bad_answer')
    expect(made.calls).toBe(1)
    for (const key of spellings(KEY)) expect(Buffer.from(told(error)).includes(key)).toBe(false)
    expect(readdirSync(folder)).toEqual([SET_ASIDE_FOLDER])
    const { file } = error.details as { file: string }
    expect(error.hint).toContain(file)
    const kept = await decrypt(parseKeystore(readFileSync(file, 'utf8'), file), PASSWORD, file)
    expect(kept.toString('utf8')).toBe(typeof body === 'string' ? body : JSON.stringify(body))
  })

  test('reports both addresses if the key belongs to a different one', async () => {
    const error = await failure(await make(() => answer(answerOf({ address: OTHER, private_key: KEY }))))
    expect(error.message).toContain(OTHER)
    expect(error.message).toContain(ADDRESS)
  })

  test('shows the encrypted response if it cannot be stored anywhere', async () => {
    const error = await failure(await make(() => gone(answer('{}')), { otherFolders: ['/proc/nowhere'] }))
    const text = /\{.*\}$/.exec(error.hint ?? '')?.[0] ?? ''
    expect((await decrypt(parseKeystore(text, 'shown'), PASSWORD, 'shown')).toString()).toBe('{}')
  })

  test('stores nothing for an empty response', async () => {
    expect((await failure(await make(() => answer('')))).code).toBe('bad_answer')
    expect(readdirSync(folder)).toEqual([])
  })
})

/** Removes the folder of wallets when the response arrives. */
function gone(given: TransportResponse): TransportResponse {
  rmSync(folder, { recursive: true, force: true })
  writeFileSync(folder, 'no folder any more')
  return given
}

async function keystoreOf(privateKey: string, address: string): Promise<string> {
  const seal = await prepareSeal(PASSWORD)
  return seal.sealKeystore(new Secret(privateKey), address)
}

describe('a key that cannot be stored in its place is stored', () => {
  const good = () => gone(answer(answerOf({ address: ADDRESS, private_key: KEY })))

  test('in the next folder that is writable', async () => {
    const error = await failure(await make(good))
    expect(error.code).toBe('unexpected')
    const { address, file } = error.details as { address: string; file: string }
    expect(address).toBe(ADDRESS)
    expect(file.startsWith(join(home, 'gdn-wallet-alice-'))).toBe(true)
    expect((await openKeystore(readFileSync(file, 'utf8'), PASSWORD, file)).privateKey.reveal()).toBe(KEY)
    expect(told(error)).not.toContain(KEY.slice(2))
  })

  test('on the screen, encrypted, if no folder is writable', async () => {
    const error = await failure(await make(good, { otherFolders: ['/proc/nowhere', join(home, 'not-there')] }))
    const { keystore } = error.details as { keystore: string }
    expect(error.hint).toContain(keystore.trim())
    expect((await openKeystore(keystore, PASSWORD, 'shown')).privateKey.reveal()).toBe(KEY)
    expect(told(error)).not.toContain(KEY.slice(2))
  })

  test('in the draft if nothing else is possible, and the next wallet with that name finishes it', async () => {
    const good = answer(answerOf({ address: ADDRESS, private_key: KEY }))
    const { keep, ...reservation } = await reserve(folder, 'alice')
    const broken = { ...reservation, keep: (text: string) => keep(text, () => Promise.reject(new Error('EIO'))) }
    const made = await make(() => good, { reservation: broken, otherFolders: ['/proc/nowhere'] })
    expect((await failure(made)).message).toContain('EIO')
    await expect(reserve(folder, 'alice')).rejects.toThrow('already exists')
    const { privateKey } = await openKeystore(readFileSync(join(folder, 'alice.json'), 'utf8'), PASSWORD, 'kept')
    expect(privateKey.reveal()).toBe(KEY)
  })

  test.each([
    ['is damaged', async () => 'no keystore'],
    ['is that of another wallet', () => keystoreOf(`0x${'11'.repeat(32)}`, ADDRESS_OF_11)],
  ])('in the next folder, if the file as read back %s', async (_what, written) => {
    const reservation = await reserve(folder, 'alice')
    const { keep } = reservation
    reservation.keep = (text, prove) =>
      keep(text, async (file) => {
        writeFileSync(file, await written())
        await prove(file)
      })
    const made = await make(() => answer(answerOf({ address: ADDRESS, private_key: KEY })), { reservation })
    const { file } = (await failure(made)).details as { file: string }
    expect(file.startsWith(join(home, 'gdn-wallet-alice-'))).toBe(true)
    expect((await openKeystore(readFileSync(file, 'utf8'), PASSWORD, file)).privateKey.reveal()).toBe(KEY)
    expect(readdirSync(folder)).toEqual([])
  })

  test('under another name, if a file appeared in the meantime', async () => {
    const { result } = await make(() => {
      writeFileSync(join(folder, 'alice.json'), 'another')
      return answer(answerOf({ address: ADDRESS, private_key: KEY }))
    })
    const { name, file } = await result
    expect([name, file]).toEqual(['alice-2', join(folder, 'alice-2.json')])
    expect(readFileSync(join(folder, 'alice.json'), 'utf8')).toBe('another')
  })
})

describe('other responses', () => {
  const formB = { errorCode: 'SIGNED_URL_EXPIRED', message: 'it has expired', detail: [] }

  test.each([
    [400, formB, 'refused'],
    [410, formB, 'refused'],
    [403, formB, 'forbidden'],
    [429, formB, 'rate_limited'],
    [302, '', 'bad_answer'],
    [404, '<html>', 'bad_answer'],
    [408, '', 'unknown_outcome'],
    [500, '', 'unknown_outcome'],
    [502, '<html>', 'unknown_outcome'],
  ])('%i with %j is %s, leaves no file, and is not retried', async (status, body, code) => {
    const made = await make(() => answer(body, status))
    const error = await failure(made)
    expect(error.code).toBe(code)
    expect(told(error)).not.toContain('5161a7')
    expect(made.calls).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })
})

test.each(['before the URL is requested', 'before it is called'])(
  'Ctrl-C %s stops without leaving a file',
  async (when) => {
    const stop = new AbortController()
    const interrupted = new GdnError('interrupted', 'interrupted')
    if (when === 'before the URL is requested') stop.abort(interrupted)
    let requestCount = 0
    let called = 0
    const result = generateWallet({
      source: {
        async signedUrl() {
          requestCount++
          stop.abort(interrupted)
          return new URL('https://wallet.example/')
        },
        async call() {
          called++
          return answer('')
        },
      },
      reservation: await reserve(folder, 'alice'),
      folder,
      password: PASSWORD,
      otherFolders: [],
      signal: stop.signal,
    })
    await expect(result).rejects.toBe(interrupted)
    expect([requestCount, called]).toEqual([when === 'before it is called' ? 1 : 0, 0])
    expect(readdirSync(folder)).toEqual([])
  },
)
