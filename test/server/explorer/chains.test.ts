/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import { createExplorer } from '../../../src/server/explorer/explorer.ts'
import { showNft } from '../../../src/server/explorer/nfts.ts'
import type { ServiceDeps } from '../../../src/server/services/services.ts'
import { applyEvents, undoEvents } from '../../../src/server/store/owner-events.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { look, show } from '../../helpers/explorer.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'

let backend: TestBackend
let collection: TestCollection
let id: string

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend, { enable_transfer: true })
  ;[id = ''] = await mint(backend, collection, plainMetadata(1))
  await settled(backend, [id])
})

describe('on Solana', () => {
  it('shows collections, NFTs, runs and owners as on any blockchain, except for gas', async () => {
    const receiver = solanaWallet('receiver')
    const run = { receiver, headers: { 'gdn-run': 'on-solana' } }
    const solana = await createTestCollection(backend, { ...SOLANA_COLLECTION, name: 'Suns' })
    const ids = await mint(backend, solana, plainMetadata(2, 'Sun'), run)
    const [first] = await settled(backend, ids)
    expect(await show(backend, `collections/${solana.address}`)).toMatchObject({
      ...{ blockchain: 'solana', name: 'Suns', gas_used: null, owners: 1, counts: { deployed: 2 } },
      transaction: { kind: 'collection', state: 'final', gas_used: null, explorer_url: null },
    })
    const nft = await show(backend, `nfts/${ids[0]}`)
    expect(nft).toMatchObject({
      token_id: first?.token_id,
      owner: receiver,
      transactions: [{ kind: 'mint', state: 'final', token_count: 1 }],
    })
    const [{ transaction_hash, block_number }] = nft.transactions
    expect(nft.history).toMatchObject([
      { kind: 'mint', from: null, to: receiver, transaction_hash, block_number, explorer_url: null },
    ])
    expect((await show(backend, `owners/${receiver}/nfts`)).total).toBe(2)
    expect(await show(backend, 'runs/on-solana')).toMatchObject({ counts: { deployed: 2 }, gas_used: null })
    for (const q of [transaction_hash, ids[0]]) {
      expect((await show(backend, `search?q=${q}`)).exact).toMatchObject({ kind: 'nft', nft: { nft_gdn_id: ids[0] } })
    }
    expect((await show(backend, `search?q=${receiver}`)).exact).toMatchObject({ kind: 'owner', nfts: 2 })
  })

  it('addresses are case-sensitive', async () => {
    const { status } = await look(backend, `owners/${solanaWallet('receiver').toLowerCase()}/nfts`)
    expect(status).toBe(200)
    expect((await show(backend, `owners/${solanaWallet('receiver').toLowerCase()}/nfts`)).total).toBe(0)
  })
})

it('the history of a grant has its first and second owner', async () => {
  const { nfts } = await call(backend, 'createnfttrans', {
    ...{ contract_address: collection.address, blockchain: 'polygon' },
    ...{ sender_wallet_address: WALLETS[0], receiver_wallet_address: WALLETS[2], metadata: plainMetadata(1, 'Grant') },
  })
  const granted = nfts[0]?.nft_gdn_ids ?? ''
  await settled(backend, [granted])
  const { owner, history, transactions } = await show(backend, `nfts/${granted}`)
  expect(owner).toBe(WALLETS[2])
  expect(history).toMatchObject([
    { from: WALLETS[0], to: WALLETS[2], transaction_hash: transactions[0].transaction_hash },
    { from: null, to: WALLETS[0], transaction_hash: transactions[0].transaction_hash },
  ])
})

it('a reorg removes reverted owners from the history', async () => {
  const { token_id } = await show(backend, `nfts/${id}`)
  const [owner, other, third] = [WALLETS[1], WALLETS[0], WALLETS[2]]
  const event = (block_number: number, previous: string, next: string) => ({
    ...{ blockchain: 'polygon' as const, block_number, log_index: 0, transaction_hash: `0xhash${block_number}` },
    ...{ collection_id: collection.id, kind: 'transfer' as const, token_id, previous, next },
  })
  const steps = async () => {
    const { history, owner: now } = await show(backend, `nfts/${id}`)
    return [now, history.map(({ from, to }: { from: string; to: string }) => [from, to])]
  }
  expect(await steps()).toEqual([owner, [[null, owner]]])
  await withStore(backend.dataDir, ({ db }) => applyEvents(db, [event(9001, owner, other), event(9002, other, third)]))
  const changed = [
    [other, third],
    [owner, other],
    [null, owner],
  ]
  expect(await steps()).toEqual([third, changed])
  await withStore(backend.dataDir, ({ db }) => undoEvents(db, 'polygon', 9001))
  expect(await steps()).toEqual([other, changed.slice(1)])
  await withStore(backend.dataDir, ({ db }) => undoEvents(db, 'polygon', 9000))
  expect(await steps()).toEqual([owner, [[null, owner]]])
})

it('an address that exists on two blockchains is resolved by the blockchain', async () => {
  const bnb = await createTestCollection(backend, { blockchain: 'bnb-testnet', name: 'Copy' })
  await withStore(backend.dataDir, ({ db }) =>
    db.updateTable('collections').set({ contract_address: collection.address }).where('id', '=', bnb.id).execute(),
  )
  for (const blockchain of ['polygon', 'bnb-testnet']) {
    const path = `collections/${collection.address}?blockchain=${blockchain}`
    expect(await show(backend, path)).toMatchObject({ blockchain, contract_address: collection.address })
  }
  expect((await look(backend, `collections/${collection.address}?blockchain=astar`)).status).toBe(404)
})

it('transactions link to the configured block explorer', async () => {
  await withStore(backend.dataDir, async (store) => {
    const chains = {
      remote: { has: () => false },
      transactionUrl: (name: string, hash: string) => `https://scan.example/${name}/tx/${hash}`,
    }
    const deps = { store, storage: {}, chains, now: Date.now } as unknown as ServiceDeps
    const explorer = createExplorer({ ...deps, onError() {} })
    const nft = await showNft(explorer, { accountId: null }, id)
    const hash = nft?.transactions[0]?.transaction_hash
    expect(nft?.transactions[0]?.explorer_url).toBe(`https://scan.example/polygon/tx/${hash}`)
    expect(nft?.history.at(-1)?.explorer_url).toBe(`https://scan.example/polygon/tx/${hash}`)
    await explorer.indexer.stop()
  })
})
