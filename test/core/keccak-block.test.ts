import { keccak_256 } from '@noble/hashes/sha3.js'
import { expect, test } from 'vitest'
import { createKeccakBlock } from '../../src/core/keccak-block.ts'

test('a block of any length has the Keccak-256 that another implementation gives it, whatever was hashed before', () => {
  const block = createKeccakBlock()
  if (block === null) throw new Error('this runtime has WebAssembly')
  for (let round = 0; round < 3; round++) {
    for (let length = 0; length <= 135; length++) {
      const message = Uint8Array.from({ length }, (_, index) => (index * 31 + length * 7 + round) & 0xff)
      block.input.set(message)
      expect(block.hash(length).slice(0, 32)).toEqual(keccak_256(message))
    }
  }
})
