import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { expect, test } from 'vitest'
import { sha256Hex } from '../../src/core/sha256-hex.ts'
import { Commitment, rowContentHash } from '../../src/reveal/leaves.ts'
import { verifyProvenance } from '../../src/reveal/verify-provenance.ts'
import { digestSlot } from '../../src/verify/abi.ts'
import type { CallResult } from '../../src/verify/chain-reader.ts'

const PICTURE = 'picture'
const titles = ['Dawn', 'Noon', 'Dusk']
const metadataOf = (title: string) => ({ title, description: 'x', file_fields: [{ key: 'image', url: '' }] })
const commitment = new Commitment(
  Buffer.concat(
    titles.map((title) => rowContentHash({ metadata: metadataOf(title) }, new Map([['image', sha256Hex(PICTURE)]]))),
  ),
)

/** Tokens 5, 6 and 7 are a batch with the rows 3, 1 and 2. Token 6 is revealed, and the others are not. */
const BATCH = sha256Hex('the directory of the batch')
const directory = `ipfs://${CID.createV1(0x70, createDigest(0x12, Buffer.from(BATCH, 'hex')))}`
const LEAVES = 'ipfs://leaves'
const minted = (row: string) => ({ name: 'Hidden', description: '', provenance: LEAVES, provenance_row: row })
const shown = {
  ...{ name: 'Dawn', description: 'x', image: 'ipfs://picture' },
  provenance_salt: commitment.saltOf(1).toString('hex'),
}

interface World {
  files: Record<string, unknown>
  bytes: Record<string, Uint8Array | undefined>
  uris: Record<string, string>
  committedAt: bigint
}

const world = (): World => ({
  files: {
    [`${directory}/0.json`]: minted('3'),
    [`${directory}/1.json`]: minted('1'),
    [`${directory}/2.json`]: minted('2'),
    'ipfs://update/6.json': shown,
  },
  bytes: { [LEAVES]: commitment.leaves, 'ipfs://picture': Buffer.from(PICTURE) },
  uris: { 5: `${directory}/0.json`, 6: 'ipfs://update/6.json', 7: `${directory}/2.json` },
  committedAt: 5n,
})

const word = (value: bigint) => value.toString(16).padStart(64, '0')
const text = (value: string) => {
  const bytes = Buffer.from(value)
  return `0x${word(32n)}${word(BigInt(bytes.length))}${bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0')}`
}

function check({ files, bytes, uris, committedAt }: World, tokenId: string) {
  const never = () => Promise.reject(new Error('only shuffled drops need this'))
  return verifyProvenance(
    {
      chain: {
        origin: 'https://node.example',
        request: never,
        call: async ([call]) => {
          const [selector, argument] = [call?.data.slice(0, 10), call?.data.slice(10)]
          if (selector === '0xc87b56dd')
            return [{ kind: 'value', data: text(uris[String(BigInt(`0x${argument}`))] ?? '') }]
          if (selector === '0xa778c930') {
            return [{ kind: 'value', data: `0x${word(argument?.endsWith('6') ? 1n : 0n)}${word(1n)}${word(0n)}` }]
          }
          const isKnown = `0x${argument}` === commitment.provenance
          return [{ kind: 'value', data: `0x${word(isKnown ? committedAt : 0n)}` }]
        },
        storageAt: async (_address, slots) =>
          slots.map((slot): CallResult => ({ kind: 'value', data: `0x${slot === digestSlot(5n) ? BATCH : word(0n)}` })),
      },
      storage: {
        readJson: async (url) =>
          url in files ? { kind: 'json', value: files[url] } : { kind: 'missing', message: `${url} is missing` },
        read: async (url) => {
          const found = bytes[url]
          return found === undefined
            ? { kind: 'missing', message: `${url} is missing` }
            : { kind: 'bytes', bytes: found }
        },
      },
      openBeacon: never,
      signal: new AbortController().signal,
    },
    { contractAddress: '0x1', tokenId },
  )
}

const PROVEN = { hash: commitment.provenance, rows: 3, firstTokenId: '5', shuffle: null }

test('proves which row a token got, and that it has its metadata', async () => {
  expect(await check(world(), '6')).toEqual({ kind: 'proven', provenance: { ...PROVEN, row: 1, isRevealed: true } })
})

test('proves the row of a token that is not revealed', async () => {
  expect(await check(world(), '5')).toEqual({ kind: 'proven', provenance: { ...PROVEN, row: 3, isRevealed: false } })
})

test('says nothing of a token that was minted as it is', async () => {
  const plain = world()
  plain.files[`${directory}/1.json`] = { name: 'Dawn' }
  plain.files['ipfs://update/6.json'] = { name: 'Dusk' }
  expect(await check(plain, '6')).toEqual({ kind: 'none' })
})

const change = (more: object) => (one: World) => {
  one.files['ipfs://update/6.json'] = { ...shown, ...more }
}

test.each<[string, (one: World) => void, string]>([
  ['other metadata', change({ name: 'Noon' }), 'the leaf of row 1'],
  [
    'the metadata of another row',
    change({ name: 'Noon', provenance_salt: commitment.saltOf(2).toString('hex') }),
    'the leaf of row 1',
  ],
  ['a further key', change({ rarity: 'rare' }), 'the leaf of row 1'],
  ['no salt', change({ provenance_salt: undefined }), 'provenance_salt'],
  ['a salt that is no salt', change({ provenance_salt: 'x' }), 'provenance_salt'],
  [
    'another file',
    (one) => {
      one.bytes['ipfs://picture'] = Buffer.from('another')
    },
    'the leaf of row 1',
  ],
  [
    'other leaves',
    (one) => {
      one.bytes[LEAVES] = Buffer.from(`${sha256Hex('a')}\n${sha256Hex('b')}\n`)
    },
    'the commitment',
  ],
  [
    'a commitment after the mint',
    (one) => {
      one.committedAt = 7n
    },
    'the commitment',
  ],
  [
    'no commitment',
    (one) => {
      one.committedAt = 0n
    },
    'the commitment',
  ],
  [
    'a row that the leaves file has not',
    (one) => {
      one.files[`${directory}/1.json`] = minted('4')
    },
    'provenance_row',
  ],
  [
    'a row that is no number',
    (one) => {
      one.files[`${directory}/1.json`] = minted('1e0')
    },
    'provenance_row',
  ],
  [
    'a mint as it is, and a salt',
    (one) => {
      one.files[`${directory}/1.json`] = { name: 'Dawn' }
    },
    'provenance',
  ],
])('refuses %s', async (_, edit, what) => {
  const edited = world()
  edit(edited)
  expect(await check(edited, '6')).toMatchObject({ kind: 'differs', differences: [{ what }] })
})

test.each<[string, (one: World) => void]>([
  [
    'the metadata that was minted',
    (one) => {
      delete one.files[`${directory}/1.json`]
    },
  ],
  [
    'the leaves file',
    (one) => {
      one.bytes[LEAVES] = undefined
    },
  ],
  [
    'a file',
    (one) => {
      one.bytes['ipfs://picture'] = undefined
    },
  ],
])('decides nothing while %s is missing', async (_, edit) => {
  const edited = world()
  edit(edited)
  expect(await check(edited, '6')).toMatchObject({ kind: 'unknown' })
})

test.each<[string, number, number, string | null]>([
  ['takes the hash of a file of one block from its CID', 0x55, 0x12, null],
  ['reads a file of several blocks, whose CID has another hash', 0x70, 0x12, PICTURE],
  ['reads a file whose CID has no SHA-256', 0x55, 0x1b, PICTURE],
])('%s', async (_, codec, hash, content) => {
  const digest = Buffer.from(sha256Hex(content === null ? PICTURE : 'the root of the blocks'), 'hex')
  const url = `ipfs://${CID.createV1(codec, createDigest(hash, digest))}`
  const one = world()
  change({ image: url })(one)
  if (content !== null) one.bytes[url] = Buffer.from(content)
  expect(await check(one, '6')).toMatchObject({ kind: 'proven' })
})
