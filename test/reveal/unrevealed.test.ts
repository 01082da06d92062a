import { expect, test } from 'vitest'
import type { ManifestItem } from '../../src/manifest/read.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { readCommitment } from '../../src/reveal/read-commitment.ts'
import { unrevealedItems } from '../../src/reveal/unrevealed.ts'

const PLACEHOLDER = { metadata: { title: 'Hidden', description: '', file_fields: [] }, localFiles: [] }

const rowOf = (title: string, n: number): ManifestRow => ({
  ...{ line: n + 2, id: null, receiver: `0x${'1'.repeat(40)}`, sender: null, localFiles: [] },
  metadata: { title, description: '', file_fields: [] },
})

async function* itemsOf(titles: readonly string[]): AsyncGenerator<ManifestItem> {
  for (const [n, title] of titles.entries()) yield { row: rowOf(title, n) }
}

/** Returns the rows that are minted of a manifest that is read a second time with other titles. */
async function mintedOf(committed: readonly string[], read: readonly string[]) {
  const commitment = await readCommitment(itemsOf(committed))
  if (commitment === null) throw new Error('the manifest has problems')
  const rows: ManifestRow[] = []
  for await (const item of unrevealedItems(itemsOf(read), PLACEHOLDER, commitment, 'leaves.txt')) {
    if ('row' in item) rows.push(item.row)
  }
  return rows
}

const TITLES = ['Dawn', 'Noon', 'Dusk']

test('mints rows with the placeholder, and keeps their identity', async () => {
  const rows = await mintedOf(TITLES, TITLES)
  expect(rows.map(({ metadata }) => [metadata.title, metadata.provenance_row])).toEqual([
    ['Hidden', '1'],
    ['Hidden', '2'],
    ['Hidden', '3'],
  ])
  expect(rows.map(({ identity }) => identity?.metadata.title)).toEqual(TITLES)
  expect(rows[0]?.localFiles).toEqual([{ key: 'provenance', path: 'leaves.txt' }])
})

test.each<[string, string[], string]>([
  ['has an edited row', ['Dawn', 'Morning', 'Dusk'], 'line 3'],
  ['has its rows in another order', ['Dawn', 'Dusk', 'Noon'], 'line 3'],
  ['has one row more', [...TITLES, 'Night'], 'line 5'],
  ['has one row fewer', ['Dawn', 'Noon'], 'the end'],
])('refuses a manifest that %s when it is read again', async (_, read, where) => {
  await expect(mintedOf(TITLES, read)).rejects.toMatchObject({
    ...{ code: 'refused', message: `${where} was edited while it was read` },
  })
})
