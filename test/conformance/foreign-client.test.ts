/** @module-tag slow */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../helpers/backend.ts'
import { type Nft, startService } from './service.ts'

const ARTIST = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

const service = startService({ rateLimits: true })
const pictures = createServer((_request, response) => {
  response.setHeader('content-type', 'image/png')
  response.end(Buffer.from('89504e470d0a1a0a', 'hex'))
})

beforeAll(() => new Promise<void>((resolve) => pictures.listen(0, '127.0.0.1', resolve)))
afterAll(() => new Promise((resolve) => pictures.close(resolve)))

// Responses are untyped, as in a client without our types.
// biome-ignore lint/suspicious/noExplicitAny: a script in plain JavaScript would have no types either
async function call(path: string, body: object): Promise<any> {
  const response = await fetch(`${service.url()}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': service.apiKey(), 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return response.json()
}

/** Keeps to two requests per second, as the reference requires. */
async function getNfts(ids: readonly string[]): Promise<Nft[]> {
  await sleep(550)
  return (await call('getnfts/', { nft_gdn_ids: ids })).nfts
}

describe('a client written against the reference, with nothing but fetch', () => {
  it('generates wallets, creates a collection, and creates, finds, checks and transfers NFTs', async () => {
    const wallets: string[] = []
    for (let count = 0; count < 2; count++) {
      const { response } = await call('getpresignedurl', { email: 'artist@example.com', timeout: 10 })
      const generated = await fetch(response.url, { method: 'POST' })
      const { wallet } = JSON.parse(await generated.text())
      wallets.push(wallet.address)
    }
    const [first = '', second = ''] = wallets

    const order = { wallet_address: ARTIST, name: 'First light', blockchain: 'polygon', enable_transfer: true }
    const { response } = await call('createcollection', order)
    // In the reference, only the service's website shows the address.
    const shown = await call('getcollections', { transaction_gdn_ids: [response.transaction_gdn_id] })
    const where = { contract_address: shown.collections[0].contract_address, blockchain: 'polygon' }

    const url = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/dawn.png`
    const metadata = [
      { title: 'Dawn', description: 'The first', file_fields: [{ key: 'image', url }], mood: 'calm' },
      { title: 'Dusk', description: 'The last', file_fields: [{ key: 'image', url }] },
    ]
    const created = await call('createnft', { ...where, receiver_wallet_address: first, metadata })
    expect(created.nfts).toHaveLength(2)

    const listing = { contract_addresses: where.contract_address, blockchain: 'polygon' }
    const { nft_gdn_ids } = await call('getnftgdnids/', listing)
    expect([...nft_gdn_ids].sort()).toEqual(created.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids).sort())

    const nfts = await until(
      () => getNfts(nft_gdn_ids),
      (all) => all.every((nft) => nft.status === 'deployed'),
    )
    const dawn = nfts.find((nft) => 'title' in nft.request_metadata && nft.request_metadata.title === 'Dawn')
    expect(dawn).toMatchObject({ receiver_wallet_address: first, request_metadata: metadata[0] })

    const question = { receiver_wallet_address: first, blockchain: 'polygon', nft_gdn_ids: [dawn?.nft_gdn_id] }
    expect((await call('getisgdnnft/', question)).response).toMatchObject({
      isgdnnft: true,
      nft: { status: 'deployed' },
    })

    await call('transfernft', {
      ...where,
      tokenid: dawn?.token_id,
      nft_gdn_id: dawn?.nft_gdn_id,
      sender_wallet_address: first,
      receiver_wallet_address: second,
    })
    await until(
      () => getNfts([dawn?.nft_gdn_id ?? '']),
      ([nft]) => nft?.receiver_wallet_address === second,
    )

    const gift = { title: 'Gift', description: 'From one to another', file_fields: [] }
    const wallet = { sender_wallet_address: first, receiver_wallet_address: second }
    const given = await call('createnfttrans', { ...where, ...wallet, metadata: [gift] })
    await until(
      () => getNfts([given.nfts[0].nft_gdn_ids]),
      ([nft]) => nft?.status === 'deployed' && nft.receiver_wallet_address === second,
    )
  })

  it('reads the reason of an error from error.title and error.message', async () => {
    const order = { wallet_address: ARTIST, name: 'First light' }
    const refusal = call('createcollection', order)
    await expect(refusal).rejects.toThrow(/"error":\{"title":"Request Validation Error","message":"blockchain/)
  })
})
