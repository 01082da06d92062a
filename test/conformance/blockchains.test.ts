/** @module-tag slow */
import { describe, expect, it } from 'vitest'
import {
  accepted,
  BLOCKCHAINS,
  formA,
  isDeployed,
  isSolana,
  metadataOf,
  ROWS,
  startService,
  walletsOn,
} from './service.ts'

const service = startService()

const rowsWhere = (column: 'create' | 'transfer' | 'createAndTransfer' | 'collection', support: string) =>
  ROWS.filter((row) => row[column] === support).map(({ blockchain }) => blockchain)

describe('enumerated values of the parameter blockchain', () => {
  it.each(rowsWhere('collection', 'yes'))('creates a collection on %s', async (blockchain) => {
    const solana = isSolana(blockchain) ? { description: 'One', image: 'https://example.com/a.png' } : {}
    const body = { wallet_address: walletsOn(blockchain).artist, name: 'One', blockchain, ...solana }
    expect(await service.post('createcollection', body)).toMatchObject({
      status: 200,
      json: { request: { blockchain }, response: accepted },
    })
  })

  it.each(rowsWhere('create', 'yes'))('creates an NFT on %s', async (blockchain) => {
    const where = await service.collection(blockchain)
    expect(await service.deployedNft(where)).toMatchObject({
      contract_address: where.contract_address,
      receiver_wallet_address: walletsOn(blockchain).first,
      status: 'deployed',
    })
  })

  it.each(rowsWhere('transfer', 'yes'))('transfers an NFT on %s', async (blockchain) => {
    const where = await service.collection(blockchain)
    const { nft_gdn_id, token_id } = await service.deployedNft(where)
    const { first, second } = walletsOn(blockchain)
    const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
    await service.ask('transfernft', { ...where, nft_gdn_id, token_id, ...wallets })
    await service.detailsWhen([nft_gdn_id], (nft) => nft.receiver_wallet_address === second)
  })

  it.each(rowsWhere('transfer', 'unsupported'))('rejects a transfer on %s as unsupported', async (blockchain) => {
    const where = await service.collection(blockchain)
    const { nft_gdn_id, token_id } = await service.deployedNft(where)
    const { first, second } = walletsOn(blockchain)
    const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
    const answer = await service.post('transfernft', { ...where, nft_gdn_id, token_id, ...wallets })
    expect(answer).toMatchObject({
      status: 400,
      json: formA(expect.any(String), expect.stringContaining('unsupported')),
    })
    const { nfts } = await service.ask('getnfts', { nft_gdn_ids: [nft_gdn_id] })
    expect(nfts[0].receiver_wallet_address).toBe(first)
  })

  it.each(rowsWhere('createAndTransfer', 'yes'))('creates and transfers an NFT on %s', async (blockchain) => {
    const where = await service.collection(blockchain)
    const { first, second } = walletsOn(blockchain)
    const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
    const { nfts } = await service.ask('createnfttrans', { ...where, ...wallets, metadata: [metadataOf('Gift')] })
    const [nft] = await service.detailsWhen([nfts[0].nft_gdn_ids], isDeployed)
    expect(nft?.receiver_wallet_address).toBe(second)
  })

  it.each(rowsWhere('createAndTransfer', 'unsupported'))(
    'rejects creating and transferring on %s as unsupported',
    async (blockchain) => {
      const where = await service.collection(blockchain)
      const { first, second } = walletsOn(blockchain)
      const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
      const answer = await service.post('createnfttrans', { ...where, ...wallets, metadata: [metadataOf('Gift')] })
      expect(answer).toMatchObject({
        status: 400,
        json: formA(expect.any(String), expect.stringContaining('unsupported')),
      })
      const { contract_address, ...rest } = where
      const listed = await service.ask('getnftgdnids', { contract_addresses: contract_address, ...rest })
      expect(listed.nft_gdn_ids).toEqual([])
    },
  )

  it.each(['moon', 'Polygon', 'polygon ', '', 137, null])('rejects %j', async (blockchain) => {
    const { artist: wallet_address, first } = walletsOn('polygon')
    const where = await service.collection()
    const collection = await service.post('createcollection', { wallet_address, name: 'One', blockchain })
    const nft = { ...where, blockchain, receiver_wallet_address: first, metadata: [metadataOf('One')] }
    expect(collection.json).toEqual(formA('Request Validation Error'))
    expect(await service.post('createnft', nft)).toMatchObject({ status: 400, json: formA() })
  })
})

const inconsistent = {
  status: 400,
  json: formA('Bad Request', expect.stringMatching(/contract_address.*blockchain.*inconsistent/)),
}

describe('400 Bad Request if the blockchain of a request differs from that of the collection', () => {
  const { first, second } = walletsOn('polygon')
  const wallets = { sender_wallet_address: first, receiver_wallet_address: second }
  const others = BLOCKCHAINS.filter((name) => name !== 'polygon')

  it.each(others)('createnft with a collection of polygon and the blockchain %s', async (blockchain) => {
    const where = await service.collection('polygon')
    const body = { ...where, receiver_wallet_address: first, metadata: [metadataOf('One')], blockchain }
    expect(await service.post('createnft', body)).toMatchObject(inconsistent)
  })

  it.each(['polygon', 'solana-testnet'])('createnft with a collection of solana and %s', async (blockchain) => {
    const where = await service.collection('solana')
    const receiver_wallet_address = walletsOn(blockchain).first
    const body = { ...where, receiver_wallet_address, metadata: [metadataOf('One')], blockchain }
    expect(await service.post('createnft', body)).toMatchObject(inconsistent)
  })

  it.each(others.filter((name) => !isSolana(name)))('transfernft and createnfttrans with %s', async (blockchain) => {
    const where = await service.collection('polygon')
    const { nft_gdn_id, token_id } = await service.deployedNft(where)
    const transfer = { ...where, nft_gdn_id, token_id, ...wallets, blockchain }
    expect(await service.post('transfernft', transfer)).toMatchObject(inconsistent)
    const gift = { ...where, ...wallets, metadata: [metadataOf('Gift')], blockchain }
    expect(await service.post('createnfttrans', gift)).toMatchObject(inconsistent)
  })
})
