import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findHeldCollection, releaseCollection, showUnknownMints } from '../../../src/server/admin/unknown-mints.ts'
import { mintAddress } from '../../../src/server/chain/solana/mint-address.ts'
import { decodeMintAccount } from '../../../src/server/chain/solana/read-mint.ts'
import { listUnreleasedMints } from '../../../src/server/store/unknown-mints.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { type ClusterPlace, clusterPlace } from '../../helpers/cluster-backend.ts'
import { holdBlocks, holdSolanaSigning } from '../../helpers/hold.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { startCluster, type TestCluster } from '../../helpers/solana-cluster.ts'

const receive = { receiver: solanaWallet('holder') }

/** Surfpool can't be configured to drop transactions. */
const isSurfpool = process.env.GDN_TEST_SURFPOOL !== undefined

let cluster: TestCluster
let place: ClusterPlace
let backend: TestBackend

beforeEach(async () => {
  cluster = await startCluster()
  place = await clusterPlace(cluster)
  await cluster.fund(place.signer, 10_000_000_000n)
  await place.setUp()
  backend = await place.start()
})
afterEach(async () => {
  await backend?.close()
  await place?.remove()
  await cluster?.close()
})

const start = async () => {
  backend = await place.start()
}

async function stopAndBackUp(): Promise<string> {
  await backend.close()
  return await backUp(place.dataDir)
}

async function startFrom(backup: string): Promise<void> {
  await backend.close()
  await restore(place.dataDir, backup)
  await start()
}

async function deployedCollection(): Promise<TestCollection> {
  const collection = await createTestCollection(backend, SOLANA_COLLECTION)
  const ids = await mint(backend, collection, plainMetadata(1, 'first'), receive)
  expect(await settled(backend, ids)).toMatchObject([{ status: 'deployed' }])
  return collection
}

const metadataOf = (token: string) => decodeMintAccount(Buffer.from(token, 'base64'))
async function membersOf({ address }: TestCollection): Promise<number | null> {
  return metadataOf((await cluster.account(address)) ?? '').members
}

const openMints = ({ id }: TestCollection) => withStore(place.dataDir, ({ db }) => listUnreleasedMints(db, id))
const isStopped = (rows: readonly { state: string }[]) => rows.some(({ state }) => state === 'unexplained')

describe('a restored database of a Solana cluster', () => {
  it('adopts the tokens of NFTs not signed for: each keeps its token and metadata file', async () => {
    const collection = await deployedCollection()
    const letGo = await holdSolanaSigning(place.dataDir)
    const ids = await mint(backend, collection, plainMetadata(3), receive)
    const backup = await stopAndBackUp()
    await letGo()
    await start()
    const before = await settled(backend, ids)
    await startFrom(backup)
    const after = await settled(backend, ids)
    expect(after).toEqual(before)
    expect(after.map(({ token_id }) => token_id)).toEqual(ids.map((id) => mintAddress(place.signer, id)))
    expect(await membersOf(collection)).toBe(4)
    for (const { metadata_url } of after) {
      expect((await backend.get(`/ipfs/${String(metadata_url).slice('ipfs://'.length)}`)).status).toBe(200)
    }
    const signatures = await withStore(place.dataDir, ({ db }) =>
      db.selectFrom('transactions').select('hash').execute(),
    )
    expect(signatures.filter(({ hash }) => hash.startsWith('unknown'))).toEqual([])
    const next = await mint(backend, collection, plainMetadata(1, 'next'), receive)
    expect(await settled(backend, next)).toMatchObject([{ status: 'deployed' }])
    expect(await membersOf(collection)).toBe(5)
  })

  it('stores the metadata files of adopted tokens despite repeated interruptions', async () => {
    const collection = await deployedCollection()
    const letGo = await holdSolanaSigning(place.dataDir)
    const ids = await mint(backend, collection, plainMetadata(3), receive)
    const backup = await stopAndBackUp()
    await letGo()
    await start()
    await settled(backend, ids)
    await backend.close()
    await restore(place.dataDir, backup)
    const letBlocks = await holdBlocks(place.dataDir)
    await start()
    await until(
      async () => backend.log.filter((line) => line.includes('held by a test')),
      (lines) => lines.length > 0,
    )
    await backend.close()
    await letBlocks()
    await start()
    for (const { metadata_url } of await settled(backend, ids)) {
      expect((await backend.get(`/ipfs/${String(metadata_url).slice('ipfs://'.length)}`)).status).toBe(200)
    }
  })

  it.skipIf(isSurfpool)('settles signed NFTs by their transactions', async () => {
    const collection = await deployedCollection()
    cluster.drop(true)
    const ids = await mint(backend, collection, plainMetadata(3), receive)
    const signed = () =>
      withStore(place.dataDir, ({ db }) =>
        db.selectFrom('transactions').select('id').where('state', '=', 'signed').execute(),
      )
    expect(await until(signed, (rows) => rows.length === 3)).toHaveLength(3)
    const backup = await stopAndBackUp()
    cluster.drop(false)
    await start()
    const before = await settled(backend, ids)
    await startFrom(backup)
    expect(await settled(backend, ids)).toEqual(before)
    expect(await membersOf(collection)).toBe(4)
  })

  it('rejects requests for a collection with unknown tokens until it is released', async () => {
    const collection = await deployedCollection()
    const other = await deployedCollection()
    const backup = await stopAndBackUp()
    await start()
    await settled(backend, await mint(backend, collection, plainMetadata(3), receive))
    await startFrom(backup)
    const body = {
      ...{ contract_address: collection.address, blockchain: 'solana' },
      ...{ receiver_wallet_address: receive.receiver, metadata: plainMetadata(3) },
    }
    const ask = () => backend.post('/api/v1/createnft', body)
    const first = await ask()
    expect([first.status, first.headers.get('request-accepted')]).toEqual([503, 'no'])
    expect(await until(() => openMints(collection), isStopped)).toMatchObject([{ token_count: 3 }])
    const refused = await ask()
    expect([refused.status, refused.headers.get('request-accepted')]).toEqual([503, 'no'])
    expect(refused.json.error.message).toMatch(/has 3 tokens on solana that this backend has no record of/)
    // Other collections aren't affected.
    const elsewhere = await settled(backend, await mint(backend, other, plainMetadata(1), receive))
    expect(elsewhere).toMatchObject([{ status: 'deployed' }])
    const released = await withStore(place.dataDir, async (store) => {
      expect(await showUnknownMints(store, { released: false })).toMatchObject([
        { contract_address: collection.address, tokens: 3, hash: null, first_token_id: null, state: 'unexplained' },
      ])
      expect(await findHeldCollection(store, collection.id)).toMatchObject({ tokens: 3 })
      return await releaseCollection(store, collection.address, { failPending: false })
    })
    expect(released).toMatchObject({ tokens: 3, pending: 0 })
    const ids = await mint(backend, collection, plainMetadata(1), receive)
    expect(await settled(backend, ids)).toMatchObject([{ status: 'deployed' }])
    expect(await membersOf(collection)).toBe(5)
  })

  it('counts unknown tokens toward the maximum supply of the collection', async () => {
    const collection = await createTestCollection(backend, { ...SOLANA_COLLECTION, max_supply: 4 })
    const first = await mint(backend, collection, plainMetadata(1, 'first'), receive)
    expect(await settled(backend, first)).toMatchObject([{ status: 'deployed' }])
    const backup = await stopAndBackUp()
    await start()
    await settled(backend, await mint(backend, collection, plainMetadata(2), receive))
    await startFrom(backup)
    const target = { contract_address: collection.address, blockchain: 'solana' as const }
    const ask = (count: number) =>
      backend.post('/api/v1/createnft', {
        ...target,
        receiver_wallet_address: receive.receiver,
        metadata: plainMetadata(count),
      })
    expect((await ask(1)).status).toBe(503)
    await until(() => openMints(collection), isStopped)
    await withStore(place.dataDir, (store) => releaseCollection(store, collection.id, { failPending: false }))
    const refused = await ask(2)
    expect([refused.status, refused.headers.get('error-code')]).toEqual([409, 'max_supply'])
    expect(await call(backend, 'getsupply', target)).toMatchObject({ max_supply: 4, minted: 3, left: 1 })
    const last = await mint(backend, collection, plainMetadata(1), receive)
    expect(await settled(backend, last)).toMatchObject([{ status: 'deployed' }])
    expect(await membersOf(collection)).toBe(4)
    expect((await ask(1)).headers.get('error-code')).toBe('max_supply')
  })

  it('signs nothing while tokens are unknown, even for requests accepted before they were found', async () => {
    const collection = await deployedCollection()
    const lost = await settled(backend, await mint(backend, collection, plainMetadata(2), receive))
    const letGo = await holdSolanaSigning(place.dataDir)
    // As after a failover that lost commits: the running backend has already checked the collection.
    await withStore(place.dataDir, (store) =>
      store.transaction(async (db) => {
        const ids = lost.map(({ nft_gdn_id }) => nft_gdn_id)
        const mints = lost.map(({ token_id }) => String(token_id))
        await db.deleteFrom('nfts').where('id', 'in', ids).execute()
        await db.deleteFrom('transactions').where('mint', 'in', mints).execute()
      }),
    )
    const ids = await mint(backend, collection, plainMetadata(2), receive)
    await letGo()
    expect(await until(() => openMints(collection), isStopped)).toMatchObject([{ token_count: 2 }])
    expect(await membersOf(collection)).toBe(3)
    await withStore(place.dataDir, (store) => releaseCollection(store, collection.id, { failPending: true }))
    expect(await settled(backend, ids)).toMatchObject([{ status: 'failed' }, { status: 'failed' }])
    expect(await membersOf(collection)).toBe(3)
  })
})
