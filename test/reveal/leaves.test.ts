import { expect, test } from 'vitest'
import { sha256Hex } from '../../src/core/sha256-hex.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import {
  Commitment,
  computeLeaf,
  computeProvenance,
  hashFileContent,
  readLeaf,
  rowContentHash,
} from '../../src/reveal/leaves.ts'
import { metadataFile } from '../../src/server/pipeline/metadata-file.ts'

type Metadata = ManifestRow['metadata']

const hashes = new Map([['image', sha256Hex('a picture')]])
const content = (metadata: Metadata) => rowContentHash({ metadata }, hashes)

const DAWN: Metadata = {
  title: 'Dawn',
  description: 'The first hour',
  file_fields: [{ key: 'image', url: '' }],
  attribute: [{ tag: 'level', value: '1' }],
  external_url: 'https://example.org/1',
}
const NOON: Metadata = { title: 'Noon', description: '', file_fields: [] }
const ROWS = [DAWN, NOON, NOON]

const commitTo = (rows: readonly Metadata[]) => new Commitment(Buffer.concat(rows.map(content)))

test('commits to rows as documented', () => {
  // Computed with Python: hashlib, hmac and json.dumps(sort_keys=True, separators=(',', ':')).
  const commitment = commitTo(ROWS)
  expect(content(DAWN).toString('hex')).toBe(GOLDEN.content)
  expect(commitment.seed.toString('hex')).toBe(GOLDEN.seed)
  expect(commitment.saltOf(1).toString('hex')).toBe(GOLDEN.salt)
  expect(commitment.leaves.toString()).toBe(GOLDEN.leaves)
  expect(commitment.provenance).toBe(GOLDEN.provenance)
})

const GOLDEN = {
  content: 'b729489f6a9d7d01daa17cab9747c1d85670ff0f9f148b9dd9d1df78f13c219a',
  seed: '2a36f19f3ac0c91c00ed80d89bce620d3a68a10b67fd77aa830c6d81f8f8f26e',
  salt: '6e5caa2ec8b2f4d9d39251234145853be43e057f4de262c2dfef2595e98a0700',
  leaves: [
    '1af2ec3cad2e767a3b2113c77e0f9d2da71283a165be5e432c00332e14647098',
    '4c45f4b82330ff323cbc3a5b0f10f6308195456c22c8d5837109b88bd095d33a',
    '3ccc9c1a0498b4d029cd6369f244a2832505d0e188ec9ed111b14d2a0a2df86a',
    '',
  ].join('\n'),
  provenance: '0x0f014c4c4747031e4fdba188df9bbbed6f878f356a7c8ad25e85b7d397e5c5c7',
}

test('gives equal rows different leaves', () => {
  const { leaves } = commitTo(ROWS)
  expect(readLeaf(leaves, 2)).not.toBe(readLeaf(leaves, 3))
  expect(readLeaf(leaves, 4)).toBeNull()
})

test('commits to the order of the rows', () => {
  expect(commitTo([NOON, DAWN, NOON]).provenance).not.toBe(commitTo(ROWS).provenance)
})

test('commits to the content of files, and not to their names', () => {
  const other = rowContentHash({ metadata: DAWN }, new Map([['image', sha256Hex('another picture')]]))
  expect(other.equals(content(DAWN))).toBe(false)
})

test('finds a leaf from the metadata file that is revealed', async () => {
  const commitment = commitTo(ROWS)
  const salt = commitment.saltOf(1)
  const file = {
    name: 'Dawn',
    description: 'The first hour',
    image: 'ipfs://bafkreipicture',
    external_url: 'https://example.org/1',
    provenance_salt: salt.toString('hex'),
    attributes: [{ trait_type: 'level', value: '1' }],
  }
  const hashOf = async () => sha256Hex('a picture')
  const { leaves } = commitment
  expect(computeLeaf(salt, await hashFileContent(file, hashOf))).toBe(readLeaf(leaves, 1))
  expect(computeLeaf(salt, await hashFileContent({ ...file, name: 'Dusk' }, hashOf))).not.toBe(readLeaf(leaves, 1))
  expect(computeLeaf(salt, await hashFileContent(file, async () => sha256Hex('another')))).not.toBe(readLeaf(leaves, 1))
  expect(computeProvenance(leaves)).toBe(commitment.provenance)
})

test('names the rows that differ from a leaves file, with its seed', () => {
  const { leaves, seed } = commitTo(ROWS)
  const NONE = { changed: [], added: [], removed: [] }
  const differences = (...rows: typeof ROWS) => commitTo(rows).compareWithLeaves(leaves, seed)
  expect(differences(...ROWS)).toEqual(NONE)
  expect(differences(DAWN, { ...NOON, title: 'None' }, NOON)).toEqual({ ...NONE, changed: [2] })
  expect(differences(NOON, DAWN, NOON)).toEqual({ ...NONE, changed: [1, 2] })
  expect(differences(DAWN)).toEqual({ ...NONE, removed: [2, 3] })
  expect(differences(...ROWS, DAWN)).toEqual({ ...NONE, added: [4] })
  // Rows that moved because of a removed or an added row are unchanged.
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((title) => ({ ...DAWN, title }))
  const five = commitTo([a, b, c, d, e] as typeof ROWS)
  const since = (...rows: (typeof a)[]) => commitTo(rows as typeof ROWS).compareWithLeaves(five.leaves, five.seed)
  expect(since(a, c, d, e)).toEqual({ ...NONE, removed: [2] })
  expect(since(a, NOON, b, c, d, e)).toEqual({ ...NONE, added: [2] })
  expect(since(a, NOON, e)).toEqual({ changed: [2], added: [], removed: [3, 4] })
  expect(since(NOON, b, d, e)).toEqual({ changed: [1], added: [], removed: [3] })
})

test('commits to the type of a trait, as its metadata file has it', async () => {
  const typed = (attribute: NonNullable<Metadata['attribute']>[number]) => ({ ...NOON, attribute: [attribute] })
  const traits = [
    { tag: 'level', value: '1' },
    { tag: 'level', value: '1', display_type: 'number' },
    { tag: 'level', value: '1', display_type: 'boost_number' },
    { tag: 'level', value: '1', display_type: 'number', max_value: '9' },
    { tag: 'level', value: '0.000001', display_type: 'number' },
  ] as const
  for (const trait of traits) {
    const file = JSON.parse(Buffer.from(metadataFile(typed(trait) as never, {})).toString())
    const found = await hashFileContent(file, async () => '')
    expect(found.toString('hex')).toBe(content(typed(trait)).toString('hex'))
  }
  expect(new Set(traits.map((trait) => content(typed(trait)).toString('hex'))).size).toBe(traits.length)
})
