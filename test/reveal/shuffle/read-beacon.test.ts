import { expect, test } from 'vitest'
import { derivePublicKey, QUICKNET, signRound } from '../../../src/api/beacon.ts'
import { TransportError, type TransportRequest, type TransportResponse } from '../../../src/client/transport.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { DRAND_URLS, openBeacon } from '../../../src/reveal/shuffle/read-beacon.ts'
import { ROUNDS } from '../../helpers/quicknet-rounds.ts'

const [{ round, signature, randomness }] = ROUNDS
const hexOf = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('hex')
const requests: string[] = []

type Answer = TransportResponse | TransportError

const json = (value: unknown, status = 200): Answer => ({
  status,
  headers: {},
  body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
})

/** Opens quicknet at URLs that return these answers. */
function quicknet(answers: Readonly<Record<string, Answer>>, now = Date.UTC(2026, 0)) {
  requests.length = 0
  return openBeacon({
    urls: Object.keys(answers),
    transport: {
      request: async ({ url }: TransportRequest) => {
        requests.push(url)
        const answer = answers[url.replace(/\/[0-9a-f]{64}\/.*$/, '')] ?? json('', 500)
        if (answer instanceof Error) throw answer
        return answer
      },
    },
    userAgent: 'gdn/test',
    now: () => now,
    clock: { now: () => 0, sleep: async () => {}, random: () => 0 },
  })
}

const { signal } = new AbortController()
const VALID = json({ round, signature, randomness })
const reading = (answers: Readonly<Record<string, Answer>>) => quicknet(answers).read(round, signal)

test('reads a round of quicknet from the first URL that has it', async () => {
  const source = quicknet({ 'https://a.example/path': VALID, 'https://b.example': VALID })
  expect(source).toMatchObject({ chain: QUICKNET, isNamed: false })
  expect(hexOf((await source.read(round, signal)).randomness)).toBe(randomness)
  expect(requests).toEqual([`https://a.example/path/${QUICKNET.hash}/public/${round}`])
})

const forged = `${signature.slice(0, -1)}b`
const ofOther = { round, signature: hexOf(signRound(Buffer.alloc(32, 1), round)) }

test.each<[string, Answer, string, string]>([
  ['a server that fails', json('', 500), 'unreachable', 'HTTP 500'],
  ['a server that is unreachable', new TransportError('reset', true), 'unreachable', 'reset'],
  [
    'a server that redirects',
    { status: 302, headers: { location: 'http://10.0.0.1' }, body: Buffer.alloc(0) },
    'unreachable',
    'HTTP 302',
  ],
  ['a round that is too early', json('', 425), 'unreachable', 'does not have the round yet'],
  ['an unknown round', json('', 404), 'unreachable', 'does not have the round yet'],
  ['a response that is not JSON', json('<html>'), 'bad_answer', 'did not return a round of quicknet'],
  ['a forged signature', json({ round, signature: forged }), 'bad_answer', "is not from drand's quicknet"],
  ['a round of another chain', json(ofOther), 'bad_answer', "is not from drand's quicknet"],
  [
    'a signature of the default chain, which is longer',
    json({ round, signature: 'ab'.repeat(96) }),
    'bad_answer',
    'a round of quicknet',
  ],
  ['another round', json({ round: round + 1, signature }), 'bad_answer', 'returned another round'],
])('names %s, and reads the round from the next URL', async (_, answer, code, why) => {
  await expect(reading({ 'https://a.example': answer })).rejects.toMatchObject({
    code,
    message: expect.stringMatching(new RegExp(`^can't read round ${round} of drand \\(https://a\\.example: .*${why}`)),
  })
  expect(hexOf((await reading({ 'https://a.example': answer, 'https://b.example': VALID })).randomness)).toBe(
    randomness,
  )
})

test('shows only the origin of a URL, whose path may contain a key', async () => {
  const failed = reading({ 'https://a.example/secret-key': json('', 500) })
  await expect(failed).rejects.toMatchObject({ message: expect.not.stringContaining('secret-key') })
})

test('asks no URL for a round that is not published yet', async () => {
  const source = quicknet({ 'https://a.example': VALID }, Date.UTC(2023, 7, 23, 15, 9, 27) + 41 * 3_000 - 1)
  await expect(source.read(round, signal)).rejects.toMatchObject({
    code: 'pending',
    message: 'round 42 of drand will not be published before 2023-08-23T15:11:30.000Z',
  })
  expect(requests).toEqual([])
})

test('asks the relays of drand by default, by https', () => {
  expect(DRAND_URLS.every((url) => url.startsWith('https://'))).toBe(true)
})

test('tells before a seal whether a relay has a recent round, with one request to each', async () => {
  const { genesisTime, period } = QUICKNET
  const now = (genesisTime + (round - 1) * period + 60) * 1000
  const answers = { 'https://a.example': json('', 500), 'https://b.example': json('<html>') }
  const problem = 'https://a.example: HTTP 500, https://b.example: did not return a round of quicknet'
  expect(await quicknet(answers, now).unreachable(signal)).toBe(problem)
  expect(requests.sort()).toEqual(Object.keys(answers).map((url) => `${url}/${QUICKNET.hash}/public/${round}`))
  expect(await quicknet({ ...answers, 'https://c.example': VALID }, now).unreachable(signal)).toBeNull()
})

const SECRET = Buffer.alloc(32, 7)
const NAMED = { public_key: hexOf(derivePublicKey(SECRET)), genesis_time: 1_000, period: 3 }
const inFile = (file: unknown) =>
  openBeacon({
    file: { name: 'beacon.json', text: JSON.stringify(file) },
    transport: { request: () => Promise.reject(new Error('a request for a file')) },
    userAgent: '',
    now: () => 0,
  })

test('a beacon file with a secret key signs any round', async () => {
  const source = inFile({ ...NAMED, secret_key: hexOf(SECRET) })
  expect(source).toMatchObject({ isNamed: true, chain: { genesisTime: 1_000, period: 3 } })
  expect(hexOf((await source.read(9, signal)).signature)).toBe(hexOf(signRound(SECRET, 9)))
})

test('a beacon file with recorded rounds has no others', async () => {
  const source = inFile({ ...NAMED, rounds: [{ round: 9, signature: hexOf(signRound(SECRET, 9)) }] })
  expect((await source.read(9, signal)).round).toBe(9)
  await expect(source.read(10, signal)).rejects.toMatchObject({ code: 'invalid_input', message: 'has no round 10' })
})

test('a recorded round with a forged signature is refused', async () => {
  const source = inFile({ ...NAMED, rounds: [{ round: 9, signature: hexOf(signRound(SECRET, 8)) }] })
  await expect(source.read(9, signal)).rejects.toThrow('the signature of round 9 is not from the beacon')
})

test.each<[string, unknown, string]>([
  ['no object', [], 'must be a JSON object'],
  ['an unknown field', { ...NAMED, secret: '' }, 'must be a JSON object'],
  ['no public key', { genesis_time: 1, period: 3 }, 'public_key'],
  ['a public key that is no point', { ...NAMED, public_key: 'ab'.repeat(96) }, 'is not a public key in G2'],
  ['a period of 0', { ...NAMED, period: 0 }, 'must be at least 1'],
  ['a period of centuries', { ...NAMED, period: 1e12 }, 'must be at most 31536000'],
  ['a beginning that is no date', { ...NAMED, genesis_time: 9e15 }, 'must be at most 253402300799'],
  ['another secret key', { ...NAMED, secret_key: hexOf(Buffer.alloc(32, 8)) }, 'is not the secret key of public_key'],
  ['a secret key that is 0', { ...NAMED, secret_key: '00'.repeat(32) }, 'is not the secret key of public_key'],
  ['a short signature', { ...NAMED, rounds: [{ round: 1, signature: 'ab' }] }, 'must be 96 hex digits'],
])('refuses a beacon file with %s', (_, file, why) => {
  const opening = () => inFile(file)
  expect(opening).toThrow(GdnError)
  try {
    opening()
  } catch (error) {
    const { message, place } = error as GdnError
    expect(`${place?.file} ${place?.field} ${message}`).toContain(why)
    expect(place?.file).toBe('beacon.json')
  }
})
