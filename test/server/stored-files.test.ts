import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { MAX_LOOKUPS, storedFiles } from '../../src/server/services/stored-files.ts'
import type { FileStorage } from '../../src/server/storage/adapter.ts'

/** A storage that has every file, and counts how often, and how often at once, it is asked. */
function countingStorage() {
  const seen = { asked: 0, atOnce: 0 }
  let open = 0
  const storage: Pick<FileStorage, 'open'> = {
    async open(cid) {
      seen.asked++
      open++
      seen.atOnce = Math.max(seen.atOnce, open)
      await turn()
      open--
      return { type: 'file', cid, size: 1, async *stream() {} }
    },
  }
  return { seen, storage: storage as FileStorage }
}

const nft = (...names: string[]) => ({
  title: 't',
  description: '',
  file_fields: names.map((name, index) => ({ key: `k${index}`, url: `ipfs://${name}` })),
})

test('a file that every NFT of a request names is looked for once', async () => {
  const { seen, storage } = countingStorage()
  const found = await storedFiles(
    storage,
    Array.from({ length: 30_000 }, () => nft('one')),
  )
  expect(found).toHaveLength(30_000)
  expect(found.every((files) => files?.k0 === 'one')).toBe(true)
  expect(seen.asked).toBe(1)
})

test('of more files than anybody needs in a request, no more are looked for, and few at once', async () => {
  const { seen, storage } = countingStorage()
  const found = await storedFiles(
    storage,
    Array.from({ length: MAX_LOOKUPS + 500 }, (_, index) => nft(`f${index}`)),
  )
  expect(seen.asked).toBe(MAX_LOOKUPS)
  expect(seen.atOnce).toBeLessThanOrEqual(100)
  // Not lost: what was not looked for is the pipeline's to find.
  expect(found.filter((files) => files === null)).toHaveLength(500)
})

test('an NFT of which one file is missing is not taken for one that has all', async () => {
  const { storage } = countingStorage()
  const partly = { ...nft('a'), file_fields: [...nft('a').file_fields, { key: 'x', url: 'https://a.test/x.png' }] }
  expect(await storedFiles(storage, [nft('a', 'b'), partly, nft()])).toEqual([{ k0: 'a', k1: 'b' }, null, {}])
})
