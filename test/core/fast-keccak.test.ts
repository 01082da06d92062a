import { keccak_256 } from '@noble/hashes/sha3.js'
import { expect, test } from 'vitest'
import { createFastKeccak } from '../../src/core/fast-keccak.ts'

test('returns the same Keccak-256 as another implementation for any length and after any other input', async () => {
  const keccak = await createFastKeccak()
  for (let round = 0; round < 3; round++) {
    for (let length = 0; length <= 300; length++) {
      const message = Uint8Array.from({ length }, (_, index) => (index * 31 + length * 7 + round) & 0xff)
      expect(Buffer.from(keccak(message))).toEqual(Buffer.from(keccak_256(message)))
    }
  }
})
