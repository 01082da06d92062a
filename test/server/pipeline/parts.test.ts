import { describe, expect, it } from 'vitest'
import { nftMetadata } from '../../../src/api/metadata.ts'
import { backoffMs } from '../../../src/server/pipeline/backoff.ts'
import { metadataFile } from '../../../src/server/pipeline/metadata-file.ts'
import { toRuns } from '../../../src/server/pipeline/mint-step.ts'
import { symbolOf } from '../../../src/server/services/symbol.ts'

describe('the bytes of a metadata file', () => {
  it('name, description, files in their order, extra keys, attributes: no white space, UTF-8', () => {
    const metadata = {
      title: 'Été',
      description: 'd',
      file_fields: [
        { key: 'image', url: 'https://example.com/a.png' },
        { key: 'animation_url', url: 'https://example.com/a.mp4' },
      ],
      artist: 'A',
      attribute: [{ tag: 'Sky', value: 'red' }],
    }
    const file = metadataFile(nftMetadata.parse(metadata), { image: 'bafkA', animation_url: 'bafkB/x.mp4' })
    expect(Buffer.from(file).toString('utf8')).toBe(
      '{"name":"Été","description":"d","image":"ipfs://bafkA","animation_url":"ipfs://bafkB/x.mp4","artist":"A",' +
        '"attributes":[{"trait_type":"Sky","value":"red"}]}',
    )
  })
})

describe('runs of a batch', () => {
  it('neighbours with one receiver are one run, in the order of the batch', () => {
    const batch = ['a', 'a', 'b', 'a', 'b', 'b', 'b'].map((receiver) => ({ receiver }))
    expect(toRuns(batch).map(({ receiver, count }) => `${receiver}${count}`)).toEqual(['a2', 'b1', 'a1', 'b3'])
    expect(toRuns([])).toEqual([])
  })
})

describe('the wait before another attempt', () => {
  it('doubles from a second up to a minute', () => {
    const middle = () => 0.5
    expect([1, 2, 3, 6, 7, 50].map((attempts) => backoffMs(attempts, middle))).toEqual([
      1000, 2000, 4000, 32_000, 60_000, 60_000,
    ])
  })

  it('is spread by a quarter to both sides', () => {
    expect([backoffMs(1, () => 0), backoffMs(1, () => 1)]).toEqual([750, 1250])
  })
})

describe('the symbol of a collection', () => {
  it.each([
    ['First light', 'FIRST'],
    ['Été 2026', 'ETE20'],
    ['a', 'A'],
    ['🌅', 'NFT'],
    ['日本', 'NFT'],
    ['<script>', 'SCRIP'],
  ])('%s has %s', (name, symbol) => expect(symbolOf(name)).toBe(symbol))
})
