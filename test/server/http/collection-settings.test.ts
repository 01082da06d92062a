/** @module-tag slow */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { EvmNetwork } from '../../../src/server/chain/evm/network.ts'
import { cli, tempHome } from '../../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { png, show, store } from '../../helpers/explorer.ts'
import { newWallet, type OwnersCall, rpcOf } from '../../helpers/rpc-wallets.ts'

const owner = newWallet()
const [, BOB] = WALLETS
const CREATION = { description: 'Of its creation', image: 'https://images.example/creation.png' }

let chainState: 'well' | 'hanging' | 'failing' = 'well'
const wrapNetwork = (network: EvmNetwork): EvmNetwork => ({
  ...network,
  async request(method, params) {
    if (chainState === 'failing') throw new Error('no node')
    if (chainState === 'hanging' && method === 'eth_call') return await new Promise(() => {})
    return await network.request(method, params)
  },
})

let backend: TestBackend
let collection: TestCollection
beforeAll(async () => {
  backend = await backendForFile({ wrapNetwork })
  collection = await created()
})

async function created(): Promise<TestCollection> {
  const request = { wallet_address: owner.address, royalty_bps: 100, dynamic: true, ...CREATION }
  const collection = await createTestCollection(backend, request)
  await until(
    () => showCollection(backend, collection.id),
    ({ status }) => status === 'deployed',
  )
  return collection
}

async function settings(id = collection.id) {
  const { collections } = await call(backend, 'getcollectionsettings', { transaction_gdn_ids: [id] })
  expect(collections).toHaveLength(1)
  return collections[0]
}

const setUri = async (to: TestCollection, uri: string) =>
  expect(await rpcOf(backend).send(owner, to.address, { functionName: 'setContractURI', args: [uri] })).toBe('success')

function chainIs(state: typeof chainState): void {
  chainState = state
  onTestFinished(() => {
    chainState = 'well'
  })
}

describe('the settings of a collection', () => {
  it('are those of its creation until its owner changes them, then those of its contract', async () => {
    expect(await settings()).toEqual({
      ...{ transaction_gdn_id: collection.id, is_read_from_chain: true, problem: null, ...CREATION },
      ...{ wallet_address: owner.address, pending_wallet_address: null, enable_api: true, enable_transfer: false },
      ...{ is_frozen: false, royalty_bps: 100, royalty_receiver: owner.address, contract_uri: null },
      ...{ max_supply: null, minted: 0, accepted: 0, supply_left: null },
      ...{ has_metadata: false, banner_image: null, external_link: null },
    })
    expect(await show(backend, `collections/${collection.id}`)).toMatchObject({
      ...{ royalty_bps: 100, description: CREATION.description, is_read_from_chain: true, settings_problem: null },
    })

    const image = await store(backend, png(8, 8, 'new'))
    const more = { banner_image: 'https://images.example/banner.png', external_link: 'https://tides.example' }
    const uri = await store(backend, JSON.stringify({ name: 'Test', description: 'Changed', image, ...more }))
    const { send } = rpcOf(backend)
    await send(owner, collection.address, { functionName: 'setDefaultRoyalty', args: [BOB, 750n] })
    await send(owner, collection.address, { functionName: 'transferOwnership', args: [BOB] })
    await setUri(collection, uri)
    expect(await settings()).toMatchObject({
      ...{ is_read_from_chain: true, problem: null, royalty_bps: 750, royalty_receiver: BOB, contract_uri: uri },
      ...{
        has_metadata: true,
        ...more,
        description: 'Changed',
        image,
        wallet_address: owner.address,
        pending_wallet_address: BOB,
      },
    })
    // The page reads the chain again after a while.
    const page = await until(
      () => show(backend, `collections/${collection.id}`),
      ({ royalty_bps }) => royalty_bps === 750,
    )
    expect(page).toMatchObject({ royalty_receiver: BOB, description: 'Changed', is_read_from_chain: true })
    expect(page.covers).toMatchObject([{ url: image.replace('ipfs://', '/ipfs/'), kind: 'image' }])
    const { items } = await show(backend, 'collections')
    expect(items).toContainEqual(expect.objectContaining({ transaction_gdn_id: collection.id, covers: page.covers }))
    // These fields of the reference stay as they are.
    expect(await showCollection(backend, collection.id)).toMatchObject({ ...CREATION, royalty_bps: 100 })
  })

  it('are those of its contract in collection show', async () => {
    const collection = await created()
    const { env } = await tempHome()
    const key = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
    const shown = async () => {
      const { code, stdout, stderr } = await cli(['collection', 'show', collection.id, '--json'], {
        env: { ...env, ...key },
      })
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout)
    }
    const before = { enable_api: true, enable_transfer: false, is_frozen: false }
    expect(await shown()).toMatchObject({ ...before, wallet_address: owner.address, is_read_from_chain: true })
    const next = newWallet()
    const { send } = rpcOf(backend)
    for (const call of [
      { functionName: 'setEnableApi', args: [false] },
      { functionName: 'setEnableTransfer', args: [true] },
      { functionName: 'freezeMetadata' },
      { functionName: 'transferOwnership', args: [next.address] },
    ] as const) {
      expect(await send(owner, collection.address, call as OwnersCall), call.functionName).toBe('success')
    }
    const after = { enable_api: false, enable_transfer: true, is_frozen: true }
    const offered = { wallet_address: owner.address, pending_wallet_address: next.address }
    expect(await shown()).toMatchObject({ ...after, ...offered })
    expect(await send(next, collection.address, { functionName: 'acceptOwnership' })).toBe('success')
    const accepted = { wallet_address: next.address, pending_wallet_address: null }
    expect(await shown()).toMatchObject({ ...after, ...accepted, is_read_from_chain: true })
  })

  it.each([
    ['fails', 'failing'],
    ['does not respond', 'hanging'],
  ] as const)('are those of its creation, with the reason, while its chain %s', async (_, state) => {
    const collection = await created()
    chainIs(state)
    const since = performance.now()
    const problem =
      "polygon can't be read now, so the royalty, description and image are those from the creation request"
    expect(await settings(collection.id)).toMatchObject({
      ...{ is_read_from_chain: false, problem, royalty_bps: 100, ...CREATION, enable_api: true },
    })
    const page = await until(
      () => show(backend, `collections/${collection.id}`),
      ({ settings_problem }) => settings_problem !== null,
    )
    expect(page).toMatchObject({ is_read_from_chain: false, settings_problem: problem, royalty_bps: 100 })
    expect(performance.now() - since).toBeLessThan(20_000)
  })

  it('never fetches metadata from another server, and names what it could not read', {
    tags: ['promise'],
  }, async () => {
    let hits = 0
    const hostile = createServer((_, response) => {
      hits++
      response.end('{"description":"hostile"}')
    })
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void hostile.close())
    const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}/collection.json`
    const elsewhere =
      'its metadata is not stored here, so the description and image are those from the creation request'
    const noObject =
      'its metadata is not a JSON object, so the description and image are those from the creation request'
    for (const [uri, problem] of [
      [url, elsewhere],
      ['ipfs://bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/x', elsewhere],
      ['file:///etc/passwd', elsewhere],
      [await store(backend, `{"description":"${'x'.repeat(70_000)}"}`), elsewhere],
      [await store(backend, '["description"]'), noObject],
      [await store(backend, '{"description":'), noObject],
    ] as const) {
      await setUri(collection, uri)
      expect(await settings(), uri).toMatchObject({ is_read_from_chain: true, problem, contract_uri: uri, ...CREATION })
    }
    expect(hits).toBe(0)
  })

  it('are none of its creation where the owner has set metadata without them', async () => {
    const collection = await created()
    const none = { is_read_from_chain: true, problem: null, description: null, image: null }
    for (const metadata of ['{"name":"Tide"}', '{"description":{"a":1},"image":7}']) {
      await setUri(collection, await store(backend, metadata))
      expect(await settings(collection.id), metadata).toMatchObject(none)
    }
    const data = Buffer.from(JSON.stringify({ description: 'In the URI' })).toString('base64')
    await setUri(collection, `data:application/json;base64,${data}`)
    expect(await settings(collection.id)).toMatchObject({ ...none, description: 'In the URI' })
  })

  it('are those of its creation on Solana', async () => {
    const solana = await createTestCollection(backend, {
      ...{ blockchain: 'solana', wallet_address: 'So11111111111111111111111111111111111111112', ...CREATION },
    })
    expect(await settings(solana.id)).toMatchObject({ is_read_from_chain: false, problem: null, ...CREATION })
  })
})
