import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createWordStream } from '../../../src/core/random-words.ts'
import { permuteRows, shuffleSeed } from '../../../src/reveal/shuffle/permutation.ts'
import { chachaBlock, drawRows } from '../../helpers/verify-reveal.ts'

const sha256 = (...parts: (string | Uint8Array)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

const PROVENANCE = `0x${'ab'.repeat(32)}` as const
const SEED = Buffer.from('426a500f6524ffdd741e2f9eddc0f488ceaba5954fc49c65fa833b5f80ebf901', 'hex')

// The expected values were computed with test/helpers/verify-reveal.ts, and again with Python.
const DRAWN: [number, number[] | string][] = [
  [1, [1]],
  [2, [1, 2]],
  [3, [1, 3, 2]],
  [10, [4, 10, 5, 7, 3, 1, 8, 9, 6, 2]],
  [5_000, '5852eb6fd68b95da596bd47ef8d794b321689ea1f31d57a8ab25d716740339a7'],
  // Rejects 4 words.
  [200_000, '79946412f6a882aadb54cd752ce113921aff28fb4240509dcbf19ef713cf59dd'],
]

test('the seed is the hash of the provenance hash and the randomness', () => {
  expect(shuffleSeed(PROVENANCE, sha256('randomness'))).toEqual(SEED)
})

test('the words are the key stream of ChaCha20', () => {
  const next = createWordStream(Buffer.alloc(32))
  // RFC 8439, appendix A.1, test vectors 1 and 2.
  const words = Array.from({ length: 32 }, next)
  expect([words[0], words[1], words[16], words[17]]).toEqual([0xade0b876, 0x903df1a0, 0xbee7079f, 0x7a385155])
  const later = createWordStream(SEED)
  for (let counter = 0; counter < 600; counter++) {
    expect(Array.from({ length: 16 }, later)).toEqual([...chachaBlock(SEED, counter)])
  }
})

test.each(DRAWN)('draws %d rows like the second implementation', (rows, expected) => {
  const drawn = [...permuteRows(SEED, rows)]
  expect(drawn.length <= 10 ? drawn : sha256(drawn.join()).toString('hex')).toEqual(expected)
  if (rows <= 5_000) expect(drawn).toEqual(drawRows(SEED, rows))
})

test('draws no row twice, and no row for an empty drop', () => {
  expect(new Set(permuteRows(SEED, 5_000)).size).toBe(5_000)
  expect(permuteRows(SEED, 0)).toHaveLength(0)
})

test('draws each row for each slot equally often', () => {
  const [rows, seeds] = [10, 10_000]
  const counts = new Uint32Array(rows * rows)
  for (let seed = 0; seed < seeds; seed++) {
    for (const [slot, row] of permuteRows(sha256(String(seed)), rows).entries()) {
      const at = slot * rows + row - 1
      counts[at] = (counts[at] ?? 0) + 1
    }
  }
  const expected = seeds / rows
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  // The quantiles at p = 0.001 and p = 0.999 for (10 - 1)² = 81 degrees of freedom.
  expect(chiSquare).toBeLessThan(124.8)
  expect(chiSquare).toBeGreaterThan(46.5)
})
