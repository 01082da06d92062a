import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { releaseCollection } from '../../../src/server/admin/unknown-mints.ts'
import { encodeMint } from '../../../src/server/chain/evm/collection.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { openSigners } from '../../../src/server/chain/evm/open-signer.ts'
import { loadServerSettings } from '../../../src/server/settings/settings.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { lockTokenOwners } from '../../../src/server/store/owner-events.ts'
import { requireNonce } from '../../../src/server/store/transactions.ts'
import { listUnreleasedMints } from '../../../src/server/store/unknown-mints.ts'
import {
  call,
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'

const ABI = parseAbi(['function totalSupply() view returns (uint256)'])
const [, BOB, CAROL] = WALLETS

const supplyOf = (url: string, { address }: TestCollection) =>
  createPublicClient({ transport: http(url, { retryCount: 0 }) }).readContract({
    address: getAddress(address),
    abi: ABI,
    functionName: 'totalSupply',
  })

describe('on a public network, while the backend runs', () => {
  let real: PublicNetwork
  let place: NetworkPlace
  let backend: TestBackend
  let stopMining: () => Promise<void>

  beforeEach(async () => {
    real = await startPublicNetwork()
    place = await setUpNetwork(real)
    stopMining = real.mineEvery(30)
    backend = await place.start()
  })
  afterEach(async () => {
    await stopMining()
    await backend?.close()
    await place?.remove()
    await real?.close()
  })

  async function deployedCollection(): Promise<TestCollection> {
    const collection = await createTestCollection(backend)
    const isDeployed = async () => (await showCollection(backend, collection.id)).status === 'deployed'
    expect(await until(isDeployed, (deployed) => deployed)).toBe(true)
    return collection
  }

  const openMints = ({ id }: TestCollection) => withStore(place.dataDir, ({ db }) => listUnreleasedMints(db, id))

  it('recovers commits that a failover lost, without a restart, so that every NFT keeps its token', async () => {
    const collection = await deployedCollection()
    const ids = await mint(backend, collection, plainMetadata(3))
    const before = await settled(backend, ids)
    // The state of a standby with a lag: the NFTs are accepted, but no transaction is signed for them.
    await withStore(place.dataDir, (store) =>
      store.transaction(async (db) => {
        // A failover ends the transactions in flight, so none of them writes a cursor of the lost state.
        await lockTokenOwners(db, 'polygon', 'alone')
        const lost = await db
          .selectFrom('transactions')
          .selectAll()
          .where('kind', '=', 'mint')
          .executeTakeFirstOrThrow()
        const waiting = { status: 'initiated', step: 'mint', token_id: null, metadata_url: null } as const
        const unsigned = { transaction_id: null, batch_index: null, owner: null, owner_block: null }
        await stateDb(db)
          .updateTable('nfts')
          .set({ ...waiting, ...unsigned })
          .where('id', 'in', ids)
          .execute()
        await db.updateTable('collections').set({ next_token_id: '1' }).where('id', '=', collection.id).execute()
        await db.deleteFrom('transactions').where('id', '=', lost.id).execute()
        await db
          .updateTable('signer_nonces')
          .set({ next_nonce: requireNonce(lost) })
          .where('signer', '=', lost.signer)
          .execute()
        const since = (lost.block_number ?? 0) - 1
        await db.deleteFrom('owner_cursors').where('block_number', '>', since).execute()
        const hash = (await real.call<{ hash: Hex }>('eth_getBlockByNumber', [`0x${since.toString(16)}`, false])).hash
        const cursor = { blockchain: 'polygon', block_number: since, block_hash: hash } as const
        await db
          .insertInto('owner_cursors')
          .values(cursor)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
        await db.deleteFrom('blocks').execute()
      }),
    )
    expect(await settled(backend, ids)).toEqual(before)
    expect(await supplyOf(real.url, collection)).toBe(3n)
  })

  it("blocks a collection after a foreign mint with a signer's key, regardless of pending requests", async () => {
    const collection = await deployedCollection()
    const letGo = await holdSigning(place.dataDir, 'mint')
    const ids = await mint(backend, collection, plainMetadata(2))
    const chain = (await loadServerSettings(place.dataDir, undefined)).chains.get('polygon')
    const [signer] = await openSigners(chain?.operators ?? [], undefined)
    if (signer === undefined) throw new Error('no signer')
    const nonce = Number(await real.call<Hex>('eth_getTransactionCount', [signer.address, 'latest']))
    const groups = [{ receiver: BOB, count: 1 }]
    const data = encodeMint({ startId: 1n, groups, digest: `0x${'11'.repeat(32)}` })
    const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
    const { raw } = await signer.sign({ chainId: 137, nonce, to: collection.address as Hex, data, gas: 500_000n, fees })
    await real.call('eth_sendRawTransaction', [raw])
    const found = await until(
      () => openMints(collection),
      (rows) => rows.some(({ state }) => state === 'unexplained'),
    )
    expect(found).toMatchObject([{ start_id: '1', token_count: 1, signer: signer.address }])
    await letGo()
    expect(await supplyOf(real.url, collection)).toBe(1n)
    await withStore(place.dataDir, (store) => releaseCollection(store, collection.id, { failPending: false }))
    expect((await settled(backend, ids)).map(({ token_id }) => token_id)).toEqual(['2', '3'])
    expect(await supplyOf(real.url, collection)).toBe(3n)
  })
})

describe('on embedded chains', () => {
  it.each(['polygon', 'solana'])(
    'mints the same NFTs once again after a backup of %s is restored with its chain',
    async (blockchain) => {
      const dataDir = await freshDataDir()
      let backend = await startTestBackend(dataDir.path)
      try {
        const receiver = blockchain === 'polygon' ? BOB : solanaWallet('receiver')
        const collection = await createTestCollection(backend, blockchain === 'polygon' ? {} : SOLANA_COLLECTION)
        const first = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver }))
        const stuck = { title: 'a', description: '', file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/a.png' }] }
        const ids = await mint(backend, collection, stuck, { receiver })
        await backend.close()
        const backup = await backUp(dataDir.path)
        const mintNow = () =>
          withStore(dataDir.path, ({ db }) =>
            stateDb(db)
              .updateTable('nfts')
              .set({ step: 'mint', files: '{"image":"bafkqaaa"}' })
              .where('id', 'in', ids)
              .execute(),
          )
        const outcomes = []
        for (let round = 0; round < 2; round++) {
          await mintNow()
          backend = await startTestBackend(dataDir.path)
          outcomes.push((await settled(backend, ids)).map(({ status, token_id }) => ({ status, token_id })))
          if (blockchain === 'polygon') expect(await supplyOf(`${backend.url}/rpc/polygon`, collection)).toBe(2n)
          await backend.close()
          if (round === 0) await restore(dataDir.path, backup)
        }
        expect(outcomes[1]).toEqual(outcomes[0])
        expect(outcomes[0]).toMatchObject([{ status: 'deployed' }])
        backend = await startTestBackend(dataDir.path)
        expect(
          await settled(
            backend,
            first.map(({ nft_gdn_id }) => nft_gdn_id),
          ),
        ).toEqual(first)
      } finally {
        await backend.close()
        await dataDir.remove()
      }
    },
  )

  it.each(['mint', 'grant', 'transfer'] as const)(
    'repeats an unsigned %s once with the same result after a backup is restored with its chain',
    async (kind) => {
      const dataDir = await freshDataDir()
      let backend = await startTestBackend(dataDir.path)
      try {
        const collection = await createTestCollection(backend, { enable_transfer: true })
        const [heldNft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
        const letGo = await holdSigning(dataDir.path, kind)
        const { address: contract_address, blockchain } = collection
        const parties = { contract_address, blockchain, sender_wallet_address: BOB, receiver_wallet_address: CAROL }
        const token = { nft_gdn_id: heldNft?.nft_gdn_id, token_id: heldNft?.token_id }
        const ids =
          kind === 'mint'
            ? await mint(backend, collection, plainMetadata(2))
            : kind === 'grant'
              ? (await call(backend, 'createnfttrans', { ...parties, metadata: plainMetadata(2) })).nfts.map(
                  ({ nft_gdn_ids }) => nft_gdn_ids,
                )
              : []
        const transfer =
          kind === 'transfer' ? (await call(backend, 'transfernft', { ...parties, ...token })).response : null
        const state = async () => {
          const request = { transaction_gdn_ids: [transfer?.transaction_gdn_id] }
          const [shownTransaction] =
            transfer === null ? [] : (await call(backend, 'gettransactions', request)).transactions
          return {
            nfts: ids.length === 0 ? [] : await showNfts(backend, ids),
            transfer: shownTransaction?.status ?? null,
          }
        }
        const isDone = ({ nfts, transfer: status }: Awaited<ReturnType<typeof state>>) =>
          status !== 'initiated' && nfts.every((nft) => nft.status !== 'initiated')
        await backend.close()
        const backup = await backUp(dataDir.path)
        await letGo()
        const outcomes = []
        for (let round = 0; round < 2; round++) {
          backend = await startTestBackend(dataDir.path)
          outcomes.push(await until(state, isDone))
          expect(await supplyOf(`${backend.url}/rpc/polygon`, collection)).toBe(BigInt(1 + ids.length))
          await backend.close()
          if (round === 0) await restore(dataDir.path, backup)
        }
        expect(outcomes[0]?.transfer).toBe(kind === 'transfer' ? 'deployed' : null)
        expect(outcomes[0]?.nfts.map(({ status }) => status)).toEqual(ids.map(() => 'deployed'))
        expect(outcomes[1]).toEqual(outcomes[0])
      } finally {
        await backend.close()
        await dataDir.remove()
      }
    },
  )
})
