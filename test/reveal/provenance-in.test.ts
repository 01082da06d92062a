import { describe, expect, test } from 'vitest'
import { computeIpfsUrl } from '../../src/files/local-content.ts'
import { Commitment } from '../../src/reveal/leaves.ts'
import { createRowLookup } from '../../src/reveal/provenance-in.ts'

const commitmentOf = (rows: number, byte: number) => new Commitment(Buffer.alloc(32 * rows, byte))

const hidden = (url: string, row: number) => ({
  title: 'Hidden',
  file_fields: [{ key: 'provenance', url }],
  provenance_row: String(row),
})

// With more than 4,000 rows, the URL of the leaves file doesn't contain its hash.
describe.each([3, 4_100])('with %i rows', (rows) => {
  const own = commitmentOf(rows, 1)
  const other = commitmentOf(rows, 2)

  test('recognizes unrevealed NFTs of the commitment, but not those of another one', async () => {
    const rowOf = await createRowLookup(own)
    expect(rowOf(hidden(await computeIpfsUrl(own.leaves), 2))).toBe(2)
    expect(rowOf(hidden(await computeIpfsUrl(other.leaves), 2))).toBeNull()
  })

  test('recognizes revealed NFTs by their salts, even if they were edited', async () => {
    const rowOf = await createRowLookup(own)
    const revealed = (commitment: Commitment) => ({
      title: 'Edited',
      file_fields: [],
      provenance_salt: commitment.saltOf(rows).toString('hex'),
    })
    expect(rowOf(revealed(own))).toBe(rows)
    expect(rowOf(revealed(other))).toBeNull()
    expect(rowOf({ title: 'Edited', file_fields: [] })).toBeNull()
  })
})
