/** @module-tag slow */
import { createPublicClient, getAddress, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { requestAction } from '../../../src/server/admin/transactions.ts'
import {
  call,
  createTestCollection,
  mint,
  showCollection,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { fund, type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { metadataOf, showTransaction, TOKEN_ABI, titleOnChain, update } from '../../helpers/updates.ts'

// A reorg can remove a mint of one signer, and what was signed for its token by another signer. If the mint is canceled
// then, another NFT gets the token.

const [, BOB, CAROL] = WALLETS
const CONFIRMATIONS = 2
const FINALITY = 6
/** Enough blocks for the mint of another NFT. */
const BLOCKS = 20

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real, { signers: 2 })
  backend = await place.start()
})
afterAll(async () => {
  await backend?.close()
  await place?.remove()
  await real?.close()
})

const inPool = (count: number) =>
  until(
    () => real.pool(),
    (pool) => pool.length === count,
  )
const noBlock = async () => {}
const untilStatus = (nft: string, status: string, mineNext?: () => Promise<void>) =>
  real.mineUntil(
    () => showNfts(backend, [nft]),
    ([shownNft]) => shownNft?.status === status,
    mineNext,
  )
const transactionOf = (nft: string) =>
  withStore(place.dataDir, ({ db }) =>
    db
      .selectFrom('transactions')
      .innerJoin('nfts', 'nfts.transaction_id', 'transactions.id')
      .select(['transactions.id', 'transactions.signer'])
      .where('nfts.id', '=', nft)
      .executeTakeFirstOrThrow(),
  )

interface Minted {
  collection: TestCollection
  nft: string
}

/** An NFT whose mint isn't final, by the signer that doesn't sign for it next. */
async function mintedByTheOther(): Promise<Minted> {
  const flags = { enable_transfer: true, dynamic: true }
  const collections = await Promise.all([flags, flags].map((one) => createTestCollection(backend, one)))
  for (const { id } of collections) {
    await real.mineUntil(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
  }
  await real.mine(FINALITY)
  const minted: Minted[] = []
  for (const collection of collections) {
    const [nft = ''] = await mint(backend, collection, [metadataOf('first')])
    minted.push({ collection, nft })
    await inPool(minted.length)
  }
  await real.mine(CONFIRMATIONS)
  for (const { nft } of minted) await untilStatus(nft, 'deployed', noBlock)
  for (const one of minted) if ((await transactionOf(one.nft)).signer !== place.operator) return one
  throw new Error('both mints have the same signer')
}

/** Keeps the transaction of the first signer out of blocks, which can't pay for it. */
async function holdBack(hash: string): Promise<void> {
  await real.call('anvil_setBalance', [place.operator, '0x0'])
  await real.call('anvil_dropTransaction', [hash])
}

async function cancel(nft: string): Promise<void> {
  const { id } = await transactionOf(nft)
  await withStore(place.dataDir, (store) => requestAction(store, id, 'cancel', Date.now()))
  await until(async () => {
    const attempts = await withStore(place.dataDir, ({ db }) =>
      db
        .selectFrom('transaction_attempts')
        .select('hash')
        .where('transaction_id', '=', id)
        .where('cancels', '>', 0)
        .execute(),
    )
    const pool: readonly string[] = await real.pool()
    return attempts.some(({ hash }) => pool.includes(hash))
  }, Boolean)
}

const transfer = async ({ collection, nft }: Minted): Promise<string> => {
  const body = {
    ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id: nft, token_id: '1' },
    ...{ sender_wallet_address: BOB, receiver_wallet_address: CAROL },
  }
  return (await call(backend, 'transfernft', body)).response.transaction_gdn_id
}

it.each([
  ['transfer', transfer],
  ['update', ({ collection, nft }: Minted) => update(backend, collection, nft, 'changed')],
] as const)('leaves the token of another NFT alone after a reorg and a canceled mint: %s', async (_, change) => {
  const { collection, nft } = await mintedByTheOther()
  const changed = await change({ collection, nft })
  const [hash = ''] = await inPool(1)
  await holdBack(hash)
  await real.reorg(CONFIRMATIONS + 1)
  // The reorg has restored the balance.
  await holdBack(hash)
  await untilStatus(nft, 'initiated', noBlock)
  await cancel(nft)
  await untilStatus(nft, 'failed')
  const [second = ''] = await mint(backend, collection, [metadataOf('second')])
  for (let mined = 0; mined < BLOCKS; mined++) {
    await real.mine()
    const [shownNft] = await showNfts(backend, [second])
    if (shownNft?.status === 'deployed') break
  }
  await fund(real, place.operator)
  const end = await real.mineUntil(
    () => showTransaction(backend, changed),
    (shownNft) => shownNft?.status !== 'initiated',
  )
  expect(end).toMatchObject({ status: 'failed' })
  const [deployedNft] = await untilStatus(second, 'deployed')
  expect(deployedNft).toMatchObject({ token_id: '1', receiver_wallet_address: BOB, revision: 0 })
  const reader = createPublicClient({ transport: http(real.url) })
  const ownerOf = { abi: TOKEN_ABI, functionName: 'ownerOf', args: [1n] } as const
  expect(await reader.readContract({ address: getAddress(collection.address), ...ownerOf })).toBe(BOB)
  expect(await titleOnChain(backend, collection, deployedNft, reader)).toBe('second')
})
