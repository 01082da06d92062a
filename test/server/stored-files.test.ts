import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findStoredPlaces, MAX_LOOKUPS } from '../../src/server/services/stored-files.ts'
import type { FileStorage } from '../../src/server/storage/adapter.ts'
import type { CheckedFiles } from '../../src/server/storage/checked-files.ts'

/** A storage with every file, all but one checked, none known by its URL; counts lookups, in all and at once. */
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
      return { type: 'file', cid: `file ${cid}`, size: 1, async *stream() {} }
    },
  }
  const checkedFiles = {
    get: (cid: string) => (cid.startsWith('file ') && cid !== 'file unchecked' ? true : undefined),
  } as CheckedFiles
  return { seen, deps: { storage: storage as FileStorage, checkedFiles } }
}

const nft = (...names: string[]) => ({
  title: 't',
  description: '',
  file_fields: names.map((name, index) => ({ key: `k${index}`, url: `ipfs://${name}` })),
})

test('looks up a file once if every NFT of a request names it', async () => {
  const { seen, deps } = countingStorage()
  const found = await findStoredPlaces(
    deps,
    Array.from({ length: 30_000 }, () => nft('one')),
  )
  expect(found).toHaveLength(30_000)
  expect(found.every((files) => files?.k0 === 'one')).toBe(true)
  expect(seen.asked).toBe(1)
})

test('limits the number of file lookups per request, and how many run at once', async () => {
  const { seen, deps } = countingStorage()
  const found = await findStoredPlaces(
    deps,
    Array.from({ length: MAX_LOOKUPS + 500 }, (_, index) => nft(`f${index}`)),
  )
  expect(seen.asked).toBe(MAX_LOOKUPS)
  expect(seen.atOnce).toBeLessThanOrEqual(100)
  // The pipeline looks up the others.
  expect(found.filter((files) => files === null)).toHaveLength(500)
})

test('does not treat an NFT with a missing file as complete', async () => {
  const { deps } = countingStorage()
  const partly = { ...nft('a'), file_fields: [...nft('a').file_fields, { key: 'x', url: 'https://a.test/x.png' }] }
  expect(await findStoredPlaces(deps, [nft('a', 'b'), partly, nft()])).toEqual([{ k0: 'a', k1: 'b' }, null, {}])
})

test('leaves a stored but unchecked file to the pipeline', async () => {
  const { deps } = countingStorage()
  expect(await findStoredPlaces(deps, [nft('a'), nft('a', 'unchecked')])).toEqual([{ k0: 'a' }, null])
})

test('looks up nothing for a URL whose CID was checked before', async () => {
  const { seen, deps } = countingStorage()
  const checkedFiles = { get: (cid: string) => (cid === 'known' ? true : undefined) } as CheckedFiles
  expect(await findStoredPlaces({ ...deps, checkedFiles }, [nft('known'), nft('new')])).toEqual([{ k0: 'known' }, null])
  expect(seen.asked).toBe(1)
})
