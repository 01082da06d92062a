/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FileServer, startFileServer } from '../helpers/file-server.ts'
import { ACCEPTED_DATE, formA, isDeployed, metadataOf, NON_EMPTY, startService, walletsOn, without } from './service.ts'

const service = startService()
let files: FileServer

beforeAll(async () => {
  files = await startFileServer()
})
afterAll(() => files?.close())

const fileFields = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `file${index}`, url: `${files.url}/${index}.png` }))

const extras = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`extra${i}`, 'text']))

describe.each(['polygon', 'solana'])('NFT metadata, input of createnft on %s', (blockchain) => {
  let where: Awaited<ReturnType<typeof service.collection>>
  beforeAll(async () => {
    where = await service.collection(blockchain)
  })

  const create = (metadata: unknown) =>
    service.post('createnft', { ...where, receiver_wallet_address: walletsOn(blockchain).first, metadata })

  const refused = { status: 400, json: formA() }

  it('returns an NFT detail record with the fields of the table', async () => {
    const metadata = metadataOf('Dawn', { file_fields: fileFields(1), artist: 'Ann' })
    const nft = await service.deployedNft(where, metadata)
    expect(nft).toMatchObject({
      nft_gdn_id: NON_EMPTY,
      token_id: NON_EMPTY,
      contract_address: where.contract_address,
      receiver_wallet_address: walletsOn(blockchain).first,
      status: 'deployed',
      request_metadata: metadata,
      metadata_url: expect.stringMatching(/^ipfs:\/\/\w+/),
    })
    expect(nft.request_metadata).toEqual(metadata)
  })

  it.each(['title', 'description', 'file_fields'])('requires %s', async (name) => {
    expect(await create(without(metadataOf('One'), name))).toMatchObject(refused)
    expect(await create([metadataOf('One'), without(metadataOf('Two'), name)])).toMatchObject(refused)
  })

  it.each([
    ['title', 'string', [1, true, null, [], {}]],
    ['description', 'string', [1, true, null, [], {}]],
    ['file_fields', 'list of {key, url}', ['a', 1, null, {}, ['a'], [null]]],
    ['artist', 'string, as any other key', [1, true, null, [], {}]],
  ])('%s must be a %s', async (name, _type, others) => {
    for (const other of others) expect(await create([metadataOf('One', { [name]: other })])).toMatchObject(refused)
  })

  it.each(['key', 'url'])('requires a string as %s of a file_fields entry', async (name) => {
    const entry = { key: 'image', url: 'https://example.com/a.png' }
    expect(await create(metadataOf('One', { file_fields: [without(entry, name)] }))).toMatchObject(refused)
    expect(await create(metadataOf('One', { file_fields: [{ ...entry, [name]: 1 }] }))).toMatchObject(refused)
    expect(await create(metadataOf('One', { file_fields: [{ ...entry, [name]: '' }] }))).toMatchObject(refused)
  })

  it('accepts at most 8 entries in file_fields', async () => {
    expect(await create(metadataOf('Eight', { file_fields: fileFields(8) }))).toMatchObject({ status: 200 })
    const { status, json } = await create(metadataOf('Nine', { file_fields: fileFields(9) }))
    // These are more than 10 items as well. The message names the limit for files.
    expect({ status, json }).toEqual({ status: 400, json: formA(NON_EMPTY, expect.stringMatching(/file_fields.* 8 /)) })
  })

  it.each([
    [0, 8],
    [8, 0],
    [4, 4],
    [7, 1],
  ])('counts title, description, %i file_fields entries and %i extra keys as 10 items, the maximum', async (f, e) => {
    const metadata = metadataOf('Ten', { file_fields: fileFields(f), ...extras(e) })
    expect(await create([metadata])).toMatchObject({ status: 200 })
    expect(await create([{ ...metadata, one_more: 'text' }])).toMatchObject(refused)
  })

  it('uploads the file at the URL to storage', async () => {
    const { metadata_url } = await service.deployedNft(
      where,
      metadataOf('Stored', { file_fields: [{ key: 'image', url: `${files.url}/stored-${blockchain}.png` }] }),
    )
    expect(files.requests).toContain(`/stored-${blockchain}.png`)
    const stored = await fetch(`${service.url()}/ipfs/${metadata_url.slice('ipfs://'.length)}`)
    expect(await stored.json()).toMatchObject({ image: expect.stringMatching(/^ipfs:\/\/\w+/) })
  })

  it('accepts an object as metadata', async () => {
    const { status, json } = await create(metadataOf('Alone'))
    expect({ status, nfts: json.nfts }).toEqual({
      status: 200,
      nfts: [{ nft_gdn_ids: NON_EMPTY, accepted_date: ACCEPTED_DATE }],
    })
    expect(json.requests.metadata).toEqual(metadataOf('Alone'))
  })

  it('accepts a list as metadata, and returns one entry in nfts for each object', async () => {
    const metadata = ['A', 'B', 'C'].map((title) => metadataOf(title))
    const { status, json } = await create(metadata)
    expect({ status, nfts: json.nfts }).toEqual({
      status: 200,
      nfts: metadata.map(() => ({ nft_gdn_ids: NON_EMPTY, accepted_date: ACCEPTED_DATE })),
    })
    const ids: string[] = json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    expect(new Set(ids).size).toBe(3)
    const nfts = await service.detailsWhen(ids, isDeployed)
    expect(nfts.map((nft) => nft.request_metadata)).toEqual(expect.arrayContaining(metadata))
    expect(new Set(nfts.map((nft) => nft.token_id)).size).toBe(3)
  })

  it.each([[[]], ['text'], [1], [null], [['text']], [[null]], [[[]]]])('rejects %j as metadata', async (metadata) => {
    expect(await create(metadata)).toMatchObject(refused)
  })

  it('creates no NFT of a list with an invalid object', async () => {
    const before = await list()
    expect(await create([metadataOf('Right'), { title: 'Wrong' }])).toMatchObject(refused)
    expect(await list()).toEqual(before)
  })

  async function list(): Promise<string[]> {
    const body = { contract_addresses: where.contract_address, blockchain }
    return (await service.ask('getnftgdnids', body)).nft_gdn_ids
  }
})
