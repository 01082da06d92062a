import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { derivePublicKey, isPublicKey, QUICKNET, signRound, verifyBeacon } from '../../../src/api/beacon.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { ROUNDS } from '../../helpers/quicknet-rounds.ts'

const bytes = (hex: string) => Buffer.from(hex, 'hex')
const flipped = (signature: Uint8Array, bit: number) => {
  const forged = Buffer.from(signature)
  forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return forged
}

test.each(ROUNDS)('verifies the published round $round of quicknet', ({ round, signature, randomness }) => {
  const found = verifyBeacon(QUICKNET, round, bytes(signature))
  expect(Buffer.from(found.randomness).toString('hex')).toBe(randomness)
})

test('refuses a signature of another round', () => {
  const [first, second] = ROUNDS
  expect(() => verifyBeacon(QUICKNET, second?.round ?? 0, bytes(first?.signature ?? ''))).toThrow(
    "is not from drand's quicknet",
  )
})

test('refuses a round that is no round', () => {
  for (const round of [0, -1, 1.5, 2 ** 53, Number.NaN]) {
    expect(() => verifyBeacon(QUICKNET, round, bytes(ROUNDS[0]?.signature ?? ''))).toThrow(
      'is not a valid round number',
    )
  }
})

test('refuses each forged bit of a signature, with an error of its own', () => {
  const [{ round, signature } = { round: 0, signature: '' }] = ROUNDS
  for (let bit = 0; bit < 384; bit++) {
    const verify = () => verifyBeacon(QUICKNET, round, flipped(bytes(signature), bit))
    expect(verify, `bit ${bit}`).toThrow(GdnError)
  }
})

const FIELD = BigInt(
  '0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab',
)

test('refuses other encodings and points, with an error of its own', () => {
  const [{ round, signature } = { round: 0, signature: '' }] = ROUNDS
  const valid = bytes(signature)
  const others: [string, Uint8Array][] = [
    ['no bytes', Buffer.alloc(0)],
    ['47 bytes', valid.subarray(1)],
    ['49 bytes', Buffer.concat([valid, Buffer.alloc(1)])],
    ['96 bytes', Buffer.concat([valid, valid])],
    ['zeros', Buffer.alloc(48)],
    ['infinity', Buffer.concat([Buffer.of(0xc0), Buffer.alloc(47)])],
    ['infinity with a sign', Buffer.concat([Buffer.of(0xe0), Buffer.alloc(47)])],
    // The point (4, y) is on the curve, but not in the subgroup.
    ['a point outside of the subgroup', Buffer.concat([Buffer.of(0x80), Buffer.alloc(46), Buffer.of(4)])],
    ['the negated point', flipped(valid, 5)],
    ['a public key', QUICKNET.publicKey],
  ]
  for (let at = 0; at < 100; at++) {
    const random = createHash('sha512').update(String(at)).digest().subarray(0, 48)
    random[0] = ((random[0] ?? 0) & 0x1f) | 0x80
    others.push([`random bytes ${at}`, random])
  }
  for (const [what, other] of others) {
    expect(() => verifyBeacon(QUICKNET, round, other), what).toThrow(GdnError)
  }
})

test('refuses an x that is not reduced', () => {
  const secretKey = Buffer.alloc(32, 1)
  const chain = { ...QUICKNET, publicKey: derivePublicKey(secretKey) ?? Buffer.alloc(0) }
  const above = (signature: Uint8Array) => BigInt(`0x${Buffer.from(signature).toString('hex')}`) + FIELD
  let round = 1
  // The sum fits into the bits of an x only if x is small.
  while (above(signRound(secretKey, round)) >> 381n !== 0b100n) round++
  const signature = signRound(secretKey, round)
  expect(verifyBeacon(chain, round, signature).round).toBe(round)
  expect(() => verifyBeacon(chain, round, bytes(above(signature).toString(16)))).toThrow(GdnError)
})

test('knows a public key from other bytes', () => {
  expect(isPublicKey(QUICKNET.publicKey)).toBe(true)
  const infinity = Buffer.concat([Buffer.of(0xc0), Buffer.alloc(95)])
  const outside = Buffer.concat([Buffer.of(0x80), Buffer.alloc(94), Buffer.of(2)])
  for (const other of [infinity, outside, Buffer.alloc(96), Buffer.alloc(95), flipped(QUICKNET.publicKey, 100)]) {
    expect(isPublicKey(other)).toBe(false)
  }
})
