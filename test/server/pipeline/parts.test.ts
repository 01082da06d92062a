import { describe, expect, it } from 'vitest'
import { nftMetadataSchema } from '../../../src/api/metadata.ts'
import { groupByReceiver } from '../../../src/server/pipeline/evm/mint-bundle.ts'
import { metadataFile } from '../../../src/server/pipeline/metadata-file.ts'
import { deriveSymbol } from '../../../src/server/services/create-collection.ts'

describe('the bytes of a metadata file', () => {
  it('contain name, description, files in order, extra keys and attributes as compact UTF-8 JSON', () => {
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
    const file = metadataFile(nftMetadataSchema.parse(metadata), { image: 'bafkA', animation_url: 'bafkB/x.mp4' })
    expect(Buffer.from(file).toString('utf8')).toBe(
      '{"name":"Été","description":"d","image":"ipfs://bafkA","animation_url":"ipfs://bafkB/x.mp4","artist":"A",' +
        '"attributes":[{"trait_type":"Sky","value":"red"}]}',
    )
  })
})

describe('runs of a batch', () => {
  it('join adjacent NFTs of one receiver, in the order of the batch', () => {
    const batch = ['a', 'a', 'b', 'a', 'b', 'b', 'b'].map((receiver) => ({ receiver }))
    expect(groupByReceiver(batch).map(({ receiver, count }) => `${receiver}${count}`)).toEqual(['a2', 'b1', 'a1', 'b3'])
    expect(groupByReceiver([])).toEqual([])
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
  ])('of %s is %s', (name, symbol) => expect(deriveSymbol(name)).toBe(symbol))
})
