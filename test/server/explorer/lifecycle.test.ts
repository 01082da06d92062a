/** @module-tag slow */
import { getAddress } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { withdrawUpdates } from '../../../src/server/state/updates.ts'
import { indexNextBatch } from '../../../src/server/store/title-index.ts'
import { recordUnknownUpdate } from '../../../src/server/store/updates.ts'
import {
  backendForFile,
  call,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { png, show, store } from '../../helpers/explorer.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, showTransaction } from '../../helpers/updates.ts'

// The web explorer shows what happens to NFTs after their mint: updates, freezes and burns.

const [ALICE, BOB] = WALLETS
const ZERO = '0x0000000000000000000000000000000000000000'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** Updates the metadata of an NFT. Resolves with the ID of the request once it is deployed. */
async function updated({ address }: TestCollection, id: string, title: string, more: object = {}): Promise<string> {
  const metadata = [{ title, description: '', file_fields: [], ...more }]
  const request = { contract_address: address, nft_gdn_id: id, metadata }
  const { transaction_gdn_id } = (await call(backend, 'updatednft', request)).response
  expect(await ended(backend, transaction_gdn_id)).toMatchObject({ status: 'deployed' })
  return transaction_gdn_id
}

interface Hit {
  kind: string
  nft?: { nft_gdn_id: string; title: string }
}
const find = async (q: string): Promise<[id: string | undefined, title: string | undefined][]> =>
  ((await show(backend, `search?q=${encodeURIComponent(q)}`)).hits as Hit[]).map(({ nft }) => [
    nft?.nft_gdn_id,
    nft?.title,
  ])

describe('an updated NFT', () => {
  it('has its present metadata, image and revision on its page, in lists and as a cover', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['Egg', 'Other'])
    const [id = ''] = ids
    const image = await store(backend, png(7, 9, 'hatched'))
    const attribute = [{ tag: 'level', value: '2' }]
    const file_fields = [{ key: 'image', url: image }]
    await updated(collection, id, 'Chick', { attribute, file_fields })
    const picture = { width: 7, height: 9, url: image.replace('ipfs://', '/ipfs/') }
    const nft = await show(backend, `nfts/${id}`)
    expect(nft).toMatchObject({
      ...{ title: 'Chick', image: picture, revision: 1, is_dynamic: true, is_frozen: false, burned: false },
      ...{ is_outdated: false, attributes: [{ trait_type: 'level', value: '2' }], media: [picture] },
      request_metadata: { title: 'Chick' },
    })
    const file = await backend.get(nft.metadata_path)
    expect(await file.json()).toMatchObject({ name: 'Chick' })
    const { items } = await show(backend, `collections/${collection.id}/nfts`)
    expect(items).toMatchObject([{ title: 'Chick', image: picture }, { title: 'Other' }])
    const shownCollection = await show(backend, `collections/${collection.id}`)
    expect(shownCollection).toMatchObject({ covers: [picture], is_dynamic: true, enable_burn: false })
    expect((await show(backend, 'overview')).latest.map(({ title }: { title: string }) => title)).toContain('Chick')
  })

  it('has its history, newest first, with times of blocks and what changed', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['Egg'])
    const [id = ''] = ids
    const transaction = await updated(collection, id, 'Chick')
    const frozen = await call(backend, 'freezenft', { contract_address: collection.address, nft_gdn_ids: [id] })
    await ended(backend, frozen.response.transaction_gdn_id)
    const { transaction_hash } = (await showTransaction(backend, transaction)) ?? {}
    const nft = await show(backend, `nfts/${id}`)
    const inBlock = { block_number: expect.any(Number), time: expect.stringMatching(/^20.*Z$/) }
    expect(nft).toMatchObject({ is_frozen: true, history_left_out: false })
    expect(nft.history).toMatchObject([
      { kind: 'freeze', changes: null, ...inBlock },
      {
        ...{ kind: 'update', revision: 1, transaction_hash, status: 'deployed', ...inBlock },
        changes: [{ field: 'title', before: 'Egg', after: 'Chick' }],
      },
      { kind: 'mint', from: null, to: expect.any(String), ...inBlock },
    ])
    expect(nft.transactions.map(({ kind }: { kind: string }) => kind)).toEqual(['mint', 'update', 'freeze'])
    for (const text of [transaction, String(transaction_hash)]) {
      expect((await show(backend, `search?q=${text}`)).exact).toMatchObject({ nft: { nft_gdn_id: id } })
    }
  })

  it('is found by its present title and files, not by those before, also after a reorg', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['Placeholder common', 'Placeholder rare'])
    const [id = '', other = ''] = ids
    expect((await find('placeholder')).map(([found]) => found).sort()).toEqual([...ids].sort())
    const image = await store(backend, png(3, 3, 'revealed'))
    const file_fields = [{ key: 'image', url: image }]
    const transaction = await updated(collection, id, 'Zephyr common', { file_fields })
    expect(await find('zephyr')).toEqual([[id, 'Zephyr common']])
    expect(await find(image)).toEqual([[id, 'Zephyr common']])
    expect(await find('placeholder')).toEqual([[other, 'Placeholder rare']])
    expect((await find('common')).map(([found]) => found)).toEqual([id])
    const inCollection = await show(backend, `collections/${collection.id}/nfts?q=zephyr`)
    expect(inCollection.items).toMatchObject([{ nft_gdn_id: id }])
    // A new index of everything has the same.
    await withStore(backend.dataDir, async ({ db }) => {
      await db.deleteFrom('nft_terms').execute()
      await db.deleteFrom('nft_term_cursor').execute()
      while (!(await indexNextBatch(db, Date.now(), 500))) {}
    })
    expect(await find('zephyr')).toEqual([[id, 'Zephyr common']])
    expect(await find('placeholder')).toEqual([[other, 'Placeholder rare']])

    const { transaction_hash } = (await showTransaction(backend, transaction)) ?? {}
    await withStore(backend.dataDir, async (opened) => {
      const rows = opened.db.selectFrom('transactions').select('id').where('hash', '=', String(transaction_hash))
      const { id: signed } = await rows.executeTakeFirstOrThrow()
      await opened.transaction((db) => withdrawUpdates(db, signed))
    })
    expect(await find('zephyr')).toEqual([])
    expect(await find('common')).toEqual([[id, 'Placeholder common']])
    expect(await show(backend, `nfts/${id}`)).toMatchObject({ title: 'Placeholder common', revision: 0, image: null })
  })

  it('with long metadata is shown as it is now', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['Short'])
    const [id = ''] = ids
    const description = 'x'.repeat(20_000)
    const titles = async () => (await show(backend, `collections/${collection.id}/nfts`)).items[0].title
    await updated(collection, id, 'Long', { description })
    expect(await titles()).toBe('Long')
    await updated(collection, id, 'Longer', { description })
    expect(await titles()).toBe('Longer')
  })

  it('says that the metadata of an update is not known which the database does not have', async () => {
    const { collection, ids, nfts } = await dynamicNfts(backend, ['Known'])
    const unknown = {
      ...{ collectionId: collection.id, sequence: 5, directory: 'bafydir', block_number: 1 },
      ...{ blockchain: 'polygon' as const, transaction_hash: '0xunknown', tokenIds: [BigInt(nfts[0]?.token_id ?? '')] },
    }
    await withStore(backend.dataDir, (opened) => opened.transaction((db) => recordUnknownUpdate(db, unknown)))
    expect(await show(backend, `nfts/${ids[0]}`)).toMatchObject({
      ...{ title: 'Known', revision: 5, is_outdated: true, metadata_url: 'ipfs://bafydir/1.json' },
      history: [{ kind: 'mint' }, { kind: 'update', revision: 5, changes: null, transaction_hash: '0xunknown' }],
    })
    expect((await find('known')).map(([found]) => found)).toEqual(ids)
  })
})

it('a burned NFT is marked, and neither counted nor listed as owned', async () => {
  const holder = newWallet()
  const { collection, ids, nfts } = await dynamicNfts(backend, ['Ash', 'Oak'], {
    ...{ receiver: holder.address, run: 'trees' },
  })
  const counted = { counts: { deployed: 2, initiated: 0, failed: 0 } }
  expect(await show(backend, 'runs/trees')).toMatchObject({ ...counted, burned: 0 })
  const burned = await rpcOf(backend).send(holder, getAddress(collection.address), {
    functionName: 'burn',
    args: [holder.address, BigInt(nfts[0]?.token_id ?? '')],
  })
  expect(burned).toBe('success')
  const nft = await until(
    () => show(backend, `nfts/${ids[0]}`),
    ({ burned }) => burned,
  )
  expect(nft.history[0]).toMatchObject({ kind: 'burn', from: holder.address, to: ZERO, status: 'deployed' })
  const { items } = await show(backend, `collections/${collection.id}/nfts`)
  expect(items).toMatchObject([
    { title: 'Ash', burned: true, status: 'deployed' },
    { title: 'Oak', burned: false },
  ])
  expect(await show(backend, `collections/${collection.id}`)).toMatchObject({ owners: 1, burned: 1 })
  await until(
    () => show(backend, 'runs/trees'),
    ({ burned }) => burned === 1,
  )
  expect(await show(backend, 'runs')).toMatchObject({ items: [{ run: 'trees', ...counted, burned: 1 }] })
  expect(await show(backend, `owners/${holder.address}/nfts`)).toMatchObject({ total: 1, items: [{ title: 'Oak' }] })
  expect(await show(backend, `owners/${ZERO}/nfts`)).toMatchObject({ total: 0, items: [] })
  expect(await show(backend, `collections/${collection.id}/nfts?owner=${ZERO}`)).toMatchObject({ total: 0 })
  expect((await show(backend, `search?q=${ZERO}`)).exact).toBeNull()
  expect(await show(backend, `search?q=${holder.address}`)).toMatchObject({ exact: { kind: 'owner', nfts: 1 } })
})

it('a collection shows what can happen to its NFTs', async () => {
  const owner = newWallet()
  const { collection, ids } = await dynamicNfts(backend, ['a'], {
    ...{ wallet_address: owner.address, enable_burn: true, royalty_bps: 750, royalty_receiver: ALICE },
  })
  const shown = () => show(backend, `collections/${collection.id}`)
  expect(await shown()).toMatchObject({
    ...{ is_dynamic: true, enable_burn: true, is_frozen: false, royalty_bps: 750, royalty_receiver: ALICE },
    burned: 0,
  })
  await rpcOf(backend).send(owner, collection.address, { functionName: 'freezeMetadata' })
  expect(await until(shown, ({ is_frozen }) => is_frozen)).toMatchObject({ is_frozen: true })
  expect(await show(backend, `nfts/${ids[0]}`)).toMatchObject({ is_frozen: true, owner: BOB })
})
