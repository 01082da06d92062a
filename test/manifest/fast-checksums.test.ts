import { setImmediate } from 'node:timers/promises'
import { getAddress } from 'viem'
import { expect, test, vi } from 'vitest'
import { readManifest } from '../../src/manifest/read.ts'

const held = vi.hoisted(() => ({ hashed: 0, load: null as (() => void) | null }))
vi.mock('../../src/core/fast-keccak.ts', async () => {
  const { keccak_256 } = await import('@noble/hashes/sha3.js')
  return {
    createFastKeccak: () =>
      new Promise((resolve) => {
        held.load = () =>
          resolve((message: Uint8Array) => {
            held.hashed++
            return keccak_256(message)
          })
      }),
  }
})

test('waits for the fast checksums of a long manifest after its first rows', async () => {
  const rows = Array.from({ length: 1000 }, (_, index) => ({
    title: `#${index}`,
    description: 'of a drop',
    receiver: getAddress(`0xab${index.toString(16).padStart(38, 'c')}`),
  }))
  async function* stdin() {
    yield Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'))
  }
  const options = { blockchain: 'polygon', localFiles: false } as const
  const blocks = readManifest({ stdin: stdin(), format: 'jsonl' }, options).blocks()[Symbol.asyncIterator]()
  const first = await blocks.next()
  const others = (async () => {
    let count = 0
    for (let next = await blocks.next(); next.done !== true; next = await blocks.next()) count += next.value.length
    return count
  })()
  while (held.load === null) await setImmediate()
  // Enough turns to read all rows, if nothing waited.
  for (let turn = 0; turn < 100; turn++) await setImmediate()
  held.load()
  expect(await others).toBe(rows.length - first.value.length)
  expect(held.hashed).toBe(rows.length - first.value.length)
})
