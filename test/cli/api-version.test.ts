/** @module-tag slow */
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showNfts,
  startTestBackend,
} from '../helpers/backend.ts'
import { CONTRACT, DATE, fakeApi, knows, nft, OWNER, type Reply } from './fake-api.ts'
import { cli, errorOf, tempHome } from './harness.ts'

const RECEIVER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const TRANSFER = ['nft', 'transfer', 'id-0', '--receiver', RECEIVER]
const REQUEST = {
  contract_address: CONTRACT,
  token_id: '1',
  nft_gdn_id: 'id-0',
  sender_wallet_address: OWNER,
  receiver_wallet_address: RECEIVER,
}
const GRANT = ['nft', 'grant', '-c', CONTRACT, '-b', 'polygon', '--receiver', OWNER, '--title', 'Dawn']
const GRANTED = {
  contract_address: CONTRACT,
  blockchain: 'polygon',
  receiver_wallet_address: OWNER,
  metadata: [{ title: 'Dawn', description: '', file_fields: [] }],
}

const refuses = (message: string): Reply => ({
  status: 400,
  body: { error: { title: 'Request Validation Error', message } },
})
const accepts = (requests: object): Reply => ({
  body: { requests, response: { transaction_gdn_id: 'tx', accepted_date: DATE } },
})
const grants = ({ metadata, ...requests }: { metadata: object[] }): Reply => ({
  body: {
    message: 'accepted',
    requests: { ...requests, metadata },
    nfts: metadata.map((_, i) => ({ nft_gdn_ids: `id-${i}`, accepted_date: DATE })),
  },
})

/** Runs commands with a profile of version 1.2 for a server. */
async function withProfile(url: string, key = 'key') {
  const { env: home } = await tempHome()
  const env = { ...home, GDN_API_KEY: key }
  for (const [name, value] of [
    ['base_url', url],
    ['api_version', '1.2'],
  ] as const) {
    expect((await cli(['config', 'set', name, value], { env })).code).toBe(0)
  }
  return { env, gdn: (...argv: string[]) => cli(argv, { env }) }
}

describe('a profile with api_version 1.2', () => {
  test('transfers without a blockchain, which need not be known', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')), transfernft: accepts })
    const { gdn } = await withProfile(api.url)
    expect(await gdn(...TRANSFER, '--no-wait')).toMatchObject({ code: 0 })
    expect(api.bodies('transfernft')).toEqual([REQUEST])
  })

  test('transfers with the blockchain of a flag', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')), transfernft: accepts })
    const { gdn } = await withProfile(api.url)
    expect(await gdn(...TRANSFER, '-b', 'polygon', '--no-wait')).toMatchObject({ code: 0 })
    expect(api.bodies('transfernft')).toEqual([{ ...REQUEST, blockchain: 'polygon' }])
  })

  test('grants without a sender, also if a wallet is configured, and waits until the receiver owns the NFT', async () => {
    const seen = [nft('id-0', { receiver_wallet_address: RECEIVER }), nft('id-0')]
    let requestCount = 0
    const api = await fakeApi({
      createnfttrans: grants,
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(seen[Math.min(requestCount++, 1)] ?? nft('id-0'))(body),
    })
    const { gdn } = await withProfile(api.url)
    await gdn('config', 'set', 'wallet', RECEIVER)
    const { code, stdout } = await gdn(...GRANT, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ status: 'deployed', receiver_wallet_address: OWNER })
    expect(api.bodies('createnfttrans')).toEqual([GRANTED])
    expect(requestCount).toBe(2)
  })

  test('grants if the server returns the NFTs as `response`', async () => {
    const api = await fakeApi({
      createnfttrans: (request: { metadata: object[] }) => {
        const { nfts, ...rest } = grants(request).body as { nfts: object[] }
        return { body: { ...rest, response: nfts } }
      },
    })
    const { gdn } = await withProfile(api.url)
    const { code, stdout } = await gdn(...GRANT, '--no-wait', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ nft_gdn_id: 'id-0', status: 'initiated' })
  })

  test('grants from the sender of a flag', async () => {
    const api = await fakeApi({ createnfttrans: grants })
    const { gdn } = await withProfile(api.url)
    expect(await gdn(...GRANT, '--sender', RECEIVER, '--no-wait')).toMatchObject({ code: 0 })
    expect(api.bodies('createnfttrans')).toEqual([{ ...GRANTED, sender_wallet_address: RECEIVER }])
  })

  test.each([
    ['transfernft', TRANSFER, 'blockchain is required', { getnfts: knows(nft('id-0')) }],
    ['createnfttrans', GRANT, 'sender_wallet_address is required', {}],
  ] as const)('names itself if the server follows version 1.1 for %s', async (endpoint, argv, message, more) => {
    const api = await fakeApi({ ...more, [endpoint]: () => refuses(message) })
    const { gdn } = await withProfile(api.url)
    const result = await gdn(...argv, '--json')
    expect(result.code).toBe(5)
    expect(errorOf(result)).toMatchObject({
      code: 'refused',
      message: `Request Validation Error: ${message}`,
      hint: expect.stringContaining('profile default sets api_version 1.2'),
    })
  })

  test('reports a getnfts request that is rejected with 400 as it reports 422', async () => {
    for (const status of [400, 422]) {
      const api = await fakeApi({ getnfts: () => ({ ...refuses('nft_gdn_ids must not be long'), status }) })
      const { gdn } = await withProfile(api.url)
      expect(errorOf(await gdn('nft', 'show', 'id-0', '--json'))).toMatchObject({
        code: 'refused',
        details: { status },
      })
    }
  })

  test('applies to its own server only', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')) })
    const { gdn } = await withProfile('https://api.example.com')
    const { code, stderr } = await gdn(...TRANSFER, '--no-wait', '--base-url', api.url)
    expect(code).toBe(2)
    expect(stderr).toContain('Add --blockchain <name>.')
  })

  test('is shown by gdn config list, and must be a known version', async () => {
    const { gdn } = await withProfile('https://api.example.com')
    expect(JSON.parse((await gdn('config', 'list', '--json')).stdout)).toContainEqual({
      name: 'api_version',
      value: '1.2',
      from: 'profile default',
    })
    const { code, stderr } = await gdn('config', 'set', 'api_version', '2')
    expect(code).toBe(2)
    expect(stderr).toContain('must be "1.1" or "1.2"')
  })

  test('works with a backend of version 1.2', async () => {
    const { path, remove } = await freshDataDir()
    onTestFinished(remove)
    const backend = await startTestBackend(path, { apiVersion: '1.2' })
    onTestFinished(backend.close)
    const collection = await createTestCollection(backend, { enable_transfer: true })
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: OWNER })
    await settled(backend, [id])
    const { gdn } = await withProfile(backend.url, backend.apiKey.reveal())
    expect(await gdn('nft', 'transfer', id, '--receiver', RECEIVER)).toMatchObject({ code: 0 })
    expect((await showNfts(backend, [id]))[0]?.receiver_wallet_address).toBe(RECEIVER)
    const grant = ['nft', 'grant', '-c', collection.address, '-b', 'polygon', '--receiver', RECEIVER, '--title', 'Dawn']
    const granted = await gdn(...grant, '--json')
    expect(granted.code).toBe(0)
    expect(JSON.parse(granted.stdout)).toMatchObject({ status: 'deployed', receiver_wallet_address: RECEIVER })
  })
})
