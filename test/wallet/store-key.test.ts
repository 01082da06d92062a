import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { openKeystore } from '../../src/keystore/open.ts'
import { generateKey } from '../../src/wallet/new-key.ts'
import { type NameReservation, reserve } from '../../src/wallet/reservation.ts'
import { storeKey, verifyKeystore } from '../../src/wallet/store-key.ts'

vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const PASSWORD = new Secret('correct horse')
let folder: string

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'gdn-store-'))
  folder = join(home, 'wallets')
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
})

const store = (reservation: NameReservation, signal = new AbortController().signal) =>
  storeKey({ key: generateKey('evm'), reservation, password: PASSWORD, signal })

async function failure(storing: Promise<unknown>): Promise<GdnError> {
  const error: unknown = await storing.catch((reason: unknown) => reason)
  if (error instanceof GdnError) return error
  throw new Error('it was stored')
}

describe.each(['evm', 'solana'] as const)('a key of %s', (kind) => {
  test('is stored under its name, and opens with the password', async () => {
    const key = generateKey(kind)
    const { signal } = new AbortController()
    const stored = await storeKey({ key, reservation: await reserve(folder, 'alice'), password: PASSWORD, signal })
    const file = join(folder, 'alice.json')
    expect(stored).toEqual({ ...key, name: 'alice', file })
    expect(readdirSync(folder)).toEqual(['alice.json'])
    expect((await openKeystore(readFileSync(file, 'utf8'), PASSWORD, file)).privateKey.reveal()).toBe(
      key.privateKey.reveal(),
    )
  })

  test('is not stored if the file has another key', async () => {
    const { file } = await store(await reserve(folder, 'other'))
    await expect(verifyKeystore(file, PASSWORD, generateKey(kind).address)).rejects.toThrow(
      'a different key than gdn wrote',
    )
  })
})

test('a key that can not be read back is not stored', async () => {
  const reservation = await reserve(folder, 'alice')
  const { file } = await store(await reserve(folder, 'other'))
  const broken: NameReservation = {
    ...reservation,
    keep: (text, check) => reservation.keep(text, async () => await check(file)),
  }
  expect((await failure(store(broken))).message).toContain('a different key than gdn wrote')
  expect(readdirSync(folder)).toEqual(['other.json'])
})

test('a failed write names the file, and releases the name', async () => {
  const reservation = await reserve(folder, 'alice')
  const broken = { ...reservation, keep: () => Promise.reject(new Error('the disk is gone')) }
  const { code, message, place } = await failure(store(broken))
  expect([code, message, place]).toEqual([
    'file_error',
    "can't be written: the disk is gone",
    { file: reservation.path },
  ])
  expect(readdirSync(folder)).toEqual([])
})

test('Ctrl-C before the write stores nothing, and releases the name', async () => {
  const reason = new GdnError('interrupted', 'interrupted')
  expect(await failure(store(await reserve(folder, 'alice'), AbortSignal.abort(reason)))).toBe(reason)
  expect(readdirSync(folder)).toEqual([])
})
