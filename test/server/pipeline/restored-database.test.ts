import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createPublicClient, getAddress, http, parseAbi, zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import type { NftRecord } from '../../../src/api/nft-record.ts'
import { requestAction } from '../../../src/server/admin/transactions.ts'
import { releaseCollection } from '../../../src/server/admin/unknown-mints.ts'
import { SMALL_FILE_BYTES } from '../../../src/server/storage/files.ts'
import type { TransactionKind } from '../../../src/server/store/schema.ts'
import { listUnreleasedMints } from '../../../src/server/store/unknown-mints.ts'
import {
  type Answer,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { whenTestDone } from '../../helpers/clean-up.ts'
import { pngOf, startFileServer } from '../../helpers/file-server.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { setUpNetwork } from '../../helpers/network-backend.ts'
import { startPublicNetwork } from '../../helpers/public-network.ts'
import { type RpcProxyOptions, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { ended, historyOf, metadataOf, TOKEN_ABI, titles, update } from '../../helpers/updates.ts'

const [, BOB, CAROL] = WALLETS

/** Starts a backend on a public network, which mines until the test stops it. Both end with the test. */
async function setup() {
  const network = await startPublicNetwork()
  whenTestDone(() => network.close())
  const { dataDir, write: configure, start, remove } = await setUpNetwork(network)
  whenTestDone(remove)
  const client = createPublicClient({ transport: http(network.url, { retryCount: 0 }) })
  let backend = await start()
  whenTestDone(() => backend.close())
  let stopMining = network.mineEvery(30)
  whenTestDone(() => stopMining())

  /** Does something while the backend is stopped, and starts it again with the current configuration. */
  async function whileStopped<Result>(work: () => Promise<Result>): Promise<Result> {
    await backend.close()
    const result = await work()
    backend = await start()
    return result
  }

  return {
    network,
    dataDir,
    configure,
    whileStopped,
    /** The backend since its last start. */
    get backend() {
      return backend
    },
    stopMining: () => stopMining(),
    startMining() {
      stopMining = network.mineEvery(30)
    },
    backUp: () => whileStopped(() => backUp(dataDir)),
    restore: (backup: string) => whileStopped(() => restore(dataDir, backup)),
    client,
    /** Resolves with the number of tokens of a collection. */
    supplyOf({ address }: TestCollection): Promise<bigint> {
      return client.readContract({ address: getAddress(address), abi: ABI, functionName: 'totalSupply' })
    },
  }
}

type TestSetup = Awaited<ReturnType<typeof setup>>

const ABI = parseAbi([
  'function totalSupply() view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
])

async function deployedCollection(
  place: TestSetup,
  request: { [field: string]: boolean } = {},
): Promise<TestCollection> {
  const collection = await createTestCollection(place.backend, request)
  await until(
    () => showCollection(place.backend, collection.id),
    ({ status }) => status === 'deployed',
  )
  return collection
}

async function mintedNft(place: TestSetup, collection: TestCollection): Promise<NftRecord> {
  const [nft] = await settled(place.backend, await mint(place.backend, collection, plainMetadata(1)))
  if (nft === undefined) throw new Error('no NFT')
  return nft
}

/** Same as `settled`, for any number of NFTs. */
async function allSettled({ backend }: TestSetup, ids: readonly string[]): Promise<NftRecord[]> {
  const all: NftRecord[] = []
  for (let at = 0; at < ids.length; at += 100) all.push(...(await settled(backend, ids.slice(at, at + 100))))
  return all
}

const transactions = ({ dataDir }: TestSetup) =>
  withStore(dataDir, ({ db }) => db.selectFrom('transactions').selectAll().orderBy('nonce').execute())
const signed = async (place: TestSetup) => (await transactions(place)).filter(({ state }) => state === 'signed')

/** Resolves when at least this many transactions are signed. A poll may find several more than the previous one. */
const untilSigned = (place: TestSetup, count: number) =>
  until(
    () => signed(place),
    (rows) => rows.length >= count,
  )

/** Resolves when the log has one of these messages. */
const untilLogged = ({ backend }: TestSetup, ...messages: readonly string[]) =>
  until(
    () => backend.log.join(''),
    (log) => messages.some((message) => log.includes(message)),
  )

/** Resolves with the mints of unknown tokens in a collection once one is known to be unexplained. */
const untilUnexplained = ({ dataDir }: TestSetup, { id }: TestCollection) =>
  until(
    () => withStore(dataDir, ({ db }) => listUnreleasedMints(db, id)),
    (mints) => mints.some(({ state }) => state === 'unexplained'),
  )

/** Raises the fees of the pending transaction, so that the mined attempt isn't in the backup. */
async function bumpSigned(place: TestSetup): Promise<void> {
  const raised = () =>
    withStore(place.dataDir, async (store) => {
      const [row] = await signed(place)
      if (row === undefined) return []
      const attempts = store.db.selectFrom('transaction_attempts').select('hash').where('transaction_id', '=', row.id)
      const [first, ...others] = await attempts.orderBy('number').execute()
      if (first === undefined) await requestAction(store, row.id, 'bump', Date.now())
      return others.map(({ hash }) => hash)
    })
  // The fees may be raised twice, since the request is also read while it is processed.
  await until(
    async () => [await raised(), await place.network.pool()] as const,
    ([hashes, pool]) => hashes.some((hash) => pool.some((one) => one === hash)),
  )
}

/** Holds the work at a step during the backup. Resolves with a function that resumes it once the backend runs again. */
const STEPS = {
  'before it is signed': ({ dataDir }: TestSetup, kind: TransactionKind) => holdSigning(dataDir, kind),
  async 'when it is signed'(place: TestSetup) {
    await place.stopMining()
    return async () => place.startMining()
  },
  async 'when it is signed, and its fees were raised later'(place: TestSetup) {
    await place.stopMining()
    return async () => {
      await bumpSigned(place)
      place.startMining()
    }
  },
} as const

type Step = keyof typeof STEPS
const STEP_NAMES = Object.keys(STEPS) as Step[]

/** Resolves when the work has reached a step. */
async function reached(place: TestSetup, step: Step, waiting: 'nfts' | 'transfers' | 'updates'): Promise<void> {
  if (step !== 'before it is signed')
    return void (await until(
      () => signed(place),
      (rows) => rows.length > 0,
    ))
  const rows = () =>
    withStore(place.dataDir, async ({ db }) =>
      waiting === 'nfts'
        ? await db.selectFrom('nfts').select('id').where('step', '=', 'mint').execute()
        : await db.selectFrom(waiting).select('id').where('status', '=', 'initiated').execute(),
    )
  await until(rows, (found) => found.length > 0)
  expect(await signed(place)).toEqual([])
}

/** Requests NFTs that are minted to their sender, and transferred in the same transaction. */
async function grant({ backend }: TestSetup, { address, blockchain }: TestCollection, metadata: readonly object[]) {
  const parties = { sender_wallet_address: BOB, receiver_wallet_address: CAROL }
  const body = { ...parties, contract_address: address, blockchain, metadata }
  return (await call(backend, 'createnfttrans', body)).nfts.map((nft) => nft.nft_gdn_ids)
}

const REQUESTS = {
  mint: ({ backend }: TestSetup, collection: TestCollection, metadata: readonly object[]) =>
    mint(backend, collection, metadata),
  grant,
} as const

describe.each(['mint', 'grant'] as const)('a backup of a pending %s, restored after its completion', (kind) => {
  it.each(STEP_NAMES)('%s: assigns every NFT its token, and mints nothing twice', async (step) => {
    const place = await setup()
    const collection = await deployedCollection(place, { enable_transfer: true })
    const resume = await STEPS[step](place, kind)
    const ids = await REQUESTS[kind](place, collection, plainMetadata(3))
    await reached(place, step, 'nfts')
    const backup = await place.backUp()
    await resume()
    const before = await settled(place.backend, ids)
    await place.restore(backup)
    const after = await settled(place.backend, ids)
    expect(after).toEqual(before)
    expect(await place.supplyOf(collection)).toBe(3n)
    // The metadata directory is restored.
    for (const { metadata_url } of after) expect((await stored(place, metadata_url)).status).toBe(200)
    const next = await mint(place.backend, collection, plainMetadata(1, 'next'))
    expect(await settled(place.backend, next)).toMatchObject([{ token_id: '4' }])
    expect(await place.supplyOf(collection)).toBe(4n)
  })
})

/** Requests a stored file by its ipfs URL. */
const stored = ({ backend }: TestSetup, url: unknown) => backend.get(`/ipfs/${String(url).slice('ipfs://'.length)}`)

describe('a backup of a pending transfer, restored after its completion', () => {
  it.each(STEP_NAMES)('%s: settles it by its transaction, and transfers nothing again', async (step) => {
    const place = await setup()
    const collection = await deployedCollection(place, { enable_transfer: true })
    const { nft_gdn_id, token_id } = await mintedNft(place, collection)
    const resume = await STEPS[step](place, 'transfer')
    const nft = { contract_address: collection.address, blockchain: 'polygon', nft_gdn_id, token_id }
    const body = { ...nft, sender_wallet_address: BOB, receiver_wallet_address: CAROL }
    const id = (await call(place.backend, 'transfernft', body)).response.transaction_gdn_id
    await reached(place, step, 'transfers')
    const backup = await place.backUp()
    await resume()
    const before = await ended(place.backend, id)
    expect(before?.status).toBe('deployed')
    await place.restore(backup)
    expect(await ended(place.backend, id)).toEqual(before)
    expect(await showNfts(place.backend, [nft_gdn_id])).toMatchObject([{ receiver_wallet_address: CAROL }])
    const [mintEvent, ...transfers] = await transfersOf(place, collection)
    expect(mintEvent).toMatchObject({ from: zeroAddress, to: BOB })
    expect(transfers).toMatchObject([{ from: BOB, to: CAROL, tokenId: BigInt(String(token_id)) }])
  })
})

/** The transfers of a collection's tokens on chain, with their mints. */
async function transfersOf({ client }: TestSetup, { address }: TestCollection) {
  const filter = { address: getAddress(address), fromBlock: 0n, event: ABI[1] } as const
  return (await client.getLogs(filter)).map(({ args }) => args)
}

describe('a backup of a pending burn, restored after its completion', () => {
  it.each(STEP_NAMES)('%s: settles it by its transaction', async (step) => {
    const place = await setup()
    const { address: contract_address, ...collection } = await deployedCollection(place, { enable_burn: true })
    const { nft_gdn_id } = await mintedNft(place, { ...collection, address: contract_address })
    // A burn isn't signed before its mint is final.
    await until(
      () => transactions(place),
      (rows) => rows.every(({ watched }) => watched === 0),
    )
    const resume = await STEPS[step](place, 'burn')
    const body = { contract_address, nft_gdn_id, holder_wallet_address: BOB }
    const id = (await call(place.backend, 'burnnft', body)).response.transaction_gdn_id
    await reached(place, step, 'transfers')
    const backup = await place.backUp()
    await resume()
    const before = await ended(place.backend, id)
    expect(before?.status).toBe('deployed')
    await place.restore(backup)
    expect(await ended(place.backend, id)).toEqual(before)
    expect(await showNfts(place.backend, [nft_gdn_id])).toMatchObject([{ burned: true }])
  })
})

describe('a backup of a pending commitment, restored after its completion', () => {
  it.each(STEP_NAMES)('%s: counts it as done, and commits nothing again', async (step) => {
    const place = await setup()
    const { address: contract_address } = await deployedCollection(place)
    const body = { contract_address, provenance: `0x${'ab'.repeat(32)}` }
    const resume = await STEPS[step](place, 'provenance')
    const id = (await call(place.backend, 'commitprovenance', body)).response.transaction_gdn_id
    await reached(place, step, 'updates')
    const backup = await place.backUp()
    await resume()
    expect(await ended(place.backend, id)).toMatchObject({ status: 'deployed' })
    await place.restore(backup)
    expect(await ended(place.backend, id)).toMatchObject({ status: 'deployed' })
    const { provenances } = await call(place.backend, 'getprovenances', { contract_address })
    expect(provenances).toMatchObject([{ provenance: body.provenance, first_token_id: '1', transaction_gdn_id: id }])
    const commitments = (await transactions(place)).filter(({ kind }) => kind === 'provenance')
    expect(commitments.filter(({ state }) => state === 'reverted')).toEqual([])
  })
})

describe('a backup of a pending update, restored after its completion', () => {
  it.each(STEP_NAMES)('%s: settles it by its transaction, and updates nothing again', async (step) => {
    const place = await setup()
    const collection = await deployedCollection(place, { dynamic: true })
    const [first = '', second = '', third = ''] = await mint(place.backend, collection, plainMetadata(3))
    const ids = [first, second, third]
    await settled(place.backend, ids)
    const resume = await STEPS[step](place, 'update')
    const pending = [
      await update(place.backend, collection, first, 'new 0'),
      await update(place.backend, collection, second, 'new 1'),
    ]
    const allEnded = () => Promise.all(pending.map((id) => ended(place.backend, id)))
    await reached(place, step, 'updates')
    const backup = await place.backUp()
    await resume()
    const before = await allEnded()
    expect(before).toMatchObject([{ status: 'deployed' }, { status: 'deployed' }])
    const [nfts, events] = [await showNfts(place.backend, ids), await updatesOf(place, collection)]
    const history = await historyOf(place.backend, first)
    await place.restore(backup)
    expect(await allEnded()).toEqual(before)
    expect(await showNfts(place.backend, ids)).toEqual(nfts)
    const expected = ['new 0', 'new 1', 'NFT 2']
    expect(await titles(place.backend, collection, ids, place.client)).toEqual({ chain: expected, api: expected })
    expect(await updatesOf(place, collection)).toBe(events)
    expect(await historyOf(place.backend, first)).toEqual(history)
    const next = await update(place.backend, collection, third, 'next', { replaces_revision: 0 })
    expect(await ended(place.backend, next)).toMatchObject({ status: 'deployed' })
  })
})

/** The number of events of updates in a collection, by ERC-4906. */
async function updatesOf({ client }: TestSetup, { address }: TestCollection): Promise<number> {
  const events = TOKEN_ABI.filter(({ type }) => type === 'event')
  return (await client.getLogs({ address: getAddress(address), fromBlock: 0n, events })).length
}

it('shows the revision of an update from after the backup, and rejects one that replaces the revision before', async () => {
  const place = await setup()
  const collection = await deployedCollection(place, { dynamic: true })
  const [first = '', second = ''] = await mint(place.backend, collection, plainMetadata(2))
  const ids = [first, second]
  await settled(place.backend, ids)
  const updated = async (nft: string, title: string, more: object = {}) =>
    await ended(place.backend, await update(place.backend, collection, nft, title, more))
  const backup = await place.backUp()
  await updated(first, 'later', { replaces_revision: 0 })
  const [later] = await showNfts(place.backend, ids)
  const [minted, change] = await historyOf(place.backend, first)
  await place.restore(backup)
  // Any update examines what is on chain first.
  await updated(second, 'other')
  expect(await showNfts(place.backend, ids)).toMatchObject([
    { revision: 1, metadata_url: later?.metadata_url },
    { revision: 2 },
  ])
  // The chain has the update, but not the request with its metadata.
  const forgotten = { transaction_gdn_id: null, accepted_date: null, changes: null }
  expect(await historyOf(place.backend, first)).toEqual([minted, { ...change, ...forgotten }])
  const stale = { nft_gdn_id: first, contract_address: collection.address, metadata: plainMetadata(1) }
  const refused = await place.backend.post('/api/v1/updatednft', { ...stale, replaces_revision: 0 })
  expect(refused.json.error.message).toMatch(/the NFT has revision 1/)
  await updated(first, 'last', { replaces_revision: 1 })
  expect((await titles(place.backend, collection, ids, place.client)).chain).toEqual(['last', 'other'])
  expect((await historyOf(place.backend, first)).map(({ revision }) => revision)).toEqual([null, 1, 3])
})

it('keeps a collection and its NFTs after a restore to before its deployment, and mints nothing twice', async () => {
  const place = await setup()
  const resume = await holdSigning(place.dataDir, 'collection')
  const collection = await createTestCollection(place.backend)
  const ids = await mint(place.backend, collection, plainMetadata(3))
  const backup = await place.backUp()
  await resume()
  const before = await settled(place.backend, ids)
  await place.restore(backup)
  expect(await settled(place.backend, ids)).toEqual(before)
  expect(await place.supplyOf(collection)).toBe(3n)
})

/** Requests NFTs with their titles as reference IDs. */
async function mintWithReferences(
  { backend }: TestSetup,
  { address: contract_address, blockchain }: TestCollection,
  titles: readonly string[],
  headers: Record<string, string> = {},
) {
  const nfts = { metadata: titles.map(metadataOf), reference_ids: titles }
  const body = { contract_address, blockchain, receiver_wallet_address: BOB, ...nfts }
  return await backend.post('/api/v1/createnft', body, headers)
}

const idsOf = ({ json }: Answer): string[] => json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
/** The NFTs of a response that created nothing. */
const existing = (ids: readonly string[]) => ids.map((id) => ({ nft_gdn_ids: id, created: false }))

const THREE = ['one', 'two', 'three']

it('counts what an adopted mint paid toward the limit of its run', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const resume = await holdSigning(place.dataDir, 'mint')
  const limit = { 'gdn-run': 'a-run', 'gdn-run-max-cost': String(10n ** 18n) }
  const ids = idsOf(await mintWithReferences(place, collection, THREE, limit))
  const paid = async () =>
    (await transactions(place)).filter(({ run }) => run === 'a-run').map(({ fee_paid }) => Number(fee_paid))
  const backup = await place.backUp()
  await resume()
  await settled(place.backend, ids)
  const before = await paid()
  expect(before).toEqual([expect.toSatisfy((fee: number) => fee > 0)])
  await place.restore(backup)
  await settled(place.backend, ids)
  expect(await paid()).toEqual(before)
})

it('keeps the reference ID of a token adopted after a restore, so that a repeated request mints nothing', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const resume = await holdSigning(place.dataDir, 'mint')
  const ids = idsOf(await mintWithReferences(place, collection, THREE))
  const backup = await place.backUp()
  await resume()
  const before = await settled(place.backend, ids)
  await place.restore(backup)
  const reversed = await mintWithReferences(place, collection, THREE.toReversed())
  expect(reversed.status).toBe(200)
  expect(reversed.json.nfts).toMatchObject(existing(ids.toReversed()))
  expect(await settled(place.backend, ids)).toEqual(before)
  const repeated = await mintWithReferences(place, collection, THREE)
  expect(repeated.json.nfts).toMatchObject(existing(ids))
  expect(await place.supplyOf(collection)).toBe(3n)
})

it('rejects reference IDs from after the backup while tokens are unknown, and returns the NFTs of known ones', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const known = idsOf(await mintWithReferences(place, collection, ['known']))
  await settled(place.backend, known)
  const backup = await place.backUp()
  await settled(place.backend, idsOf(await mintWithReferences(place, collection, ['later'])))
  await place.restore(backup)
  await untilUnexplained(place, collection)
  const mixed = await mintWithReferences(place, collection, ['known', 'later'])
  expect([mixed.status, mixed.headers.get('request-accepted')]).toEqual([503, 'no'])
  const secondResponse = await mintWithReferences(place, collection, ['known'])
  expect(secondResponse.json.nfts).toMatchObject(existing(known))
  expect(await place.supplyOf(collection)).toBe(2n)
})

it('keeps the reference ID of an NFT that failed because its token may exist', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const resume = await holdSigning(place.dataDir, 'mint')
  const pending = idsOf(await mintWithReferences(place, collection, ['pending']))
  const backup = await place.backUp()
  const later = idsOf(await mintWithReferences(place, collection, ['later']))
  await resume()
  await settled(place.backend, [...pending, ...later])
  await place.restore(backup)
  await untilUnexplained(place, collection)
  await withStore(place.dataDir, (store) => releaseCollection(store, collection.address, { failPending: true }))
  expect(await settled(place.backend, pending)).toMatchObject([{ status: 'failed' }])
  const secondResponse = await mintWithReferences(place, collection, ['pending'])
  expect(secondResponse.json.nfts).toMatchObject(existing(pending))
  expect(await place.supplyOf(collection)).toBe(2n)
})

describe('a backup that is restored without the files', () => {
  it('recognizes NFTs whose files were still being fetched, and restores the files', async () => {
    const place = await setup()
    const collection = await deployedCollection(place)
    const ids = await mint(place.backend, collection, await withPictures(3))
    const backup = await place.backUp()
    await expectRestoredFiles(place, backup, collection, await settled(place.backend, ids))
  })

  it('recognizes NFTs with stored files, and fetches files that the storage lost', async () => {
    const place = await setup()
    const collection = await deployedCollection(place)
    const resume = await holdSigning(place.dataDir, 'mint')
    const ids = await mint(place.backend, collection, await withPictures(3))
    const stored = () =>
      withStore(place.dataDir, ({ db }) => db.selectFrom('nfts').select('id').where('step', '=', 'mint').execute())
    await until(stored, (rows) => rows.length === ids.length)
    const backup = await place.backUp()
    await resume()
    await expectRestoredFiles(place, backup, collection, await settled(place.backend, ids))
  })

  /** NFTs with images on a server. Smaller ones would be stored in the database. */
  async function withPictures(count: number) {
    const files = await startFileServer({}, (path) => Buffer.concat([pngOf(path), Buffer.alloc(SMALL_FILE_BYTES)]))
    whenTestDone(() => files.close())
    return plainMetadata(count).map((metadata, n) => ({
      ...metadata,
      file_fields: [{ key: 'image', url: `${files.url}/${n}.png` }],
    }))
  }

  async function expectRestoredFiles(
    place: TestSetup,
    backup: string,
    collection: TestCollection,
    before: NftRecord[],
  ) {
    await place.whileStopped(async () => {
      await restore(place.dataDir, backup)
      await rm(join(place.dataDir, 'files'), { recursive: true, force: true })
    })
    const ids = before.map(({ nft_gdn_id }) => nft_gdn_id)
    expect(await settled(place.backend, ids)).toEqual(before)
    expect(await place.supplyOf(collection)).toBe(3n)
    for (const { metadata_url } of before) {
      const { image } = (await (await stored(place, metadata_url)).json()) as { image: string }
      expect((await stored(place, image)).status).toBe(200)
    }
  }
})

it('assigns their tokens to NFTs of several batches that were minted out of order', async () => {
  const place = await setup()
  const files = await startFileServer()
  whenTestDone(() => files.close())
  const collection = await deployedCollection(place)
  const late = { ...metadataOf('late'), file_fields: [{ key: 'image', url: `${files.url}/late.png` }] }
  const same = plainMetadata(1, 'same')
  const ids: string[] = []
  for (const metadata of [plainMetadata(2, 'a'), [late, ...plainMetadata(2, 'b')], same, same]) {
    ids.push(...(await mint(place.backend, collection, metadata)))
  }
  const backup = await place.backUp()
  const before = await settled(place.backend, ids)
  await place.restore(backup)
  expect(await settled(place.backend, ids)).toEqual(before)
  expect(await place.supplyOf(collection)).toBe(7n)
})

it('finds every token of 8 mints that were in flight after a backup, and mints nothing twice', async () => {
  const place = await setup()
  const { network } = place
  const collection = await deployedCollection(place)
  await place.stopMining()
  await place.whileStopped(() => place.configure({ urls: [network.url], more: { mints_in_flight: 2 } }))
  // Mints are gathered until they fill a batch of 200, apart from the first.
  const ids = await mint(place.backend, collection, plainMetadata(100, 'First'))
  await untilSigned(place, 1)
  for (let request = 0; request < 14; request++) {
    ids.push(...(await mint(place.backend, collection, plainMetadata(100, `Drop ${request}`))))
  }
  await untilSigned(place, 2)
  const backup = await place.backUp()
  await place.whileStopped(() => place.configure({ urls: [network.url] }))
  await untilSigned(place, 8)
  place.startMining()
  const before = await allSettled(place, ids)
  expect(await place.supplyOf(collection)).toBe(1500n)
  await place.restore(backup)
  expect(await allSettled(place, ids)).toEqual(before)
  expect(await place.supplyOf(collection)).toBe(1500n)
  expect(new Set(before.map(({ token_id }) => token_id)).size).toBe(1500)
})

/** Requests an NFT and then 200 others, so that two mints are signed, while the network mines nothing. */
async function signTwoMints(place: TestSetup, collection: TestCollection): Promise<string[]> {
  await place.stopMining()
  const first = await mint(place.backend, collection, plainMetadata(1))
  await untilSigned(place, 1)
  const others = await mint(place.backend, collection, plainMetadata(200, 'Second'))
  await untilSigned(place, 2)
  return [...first, ...others]
}

/** Configures a proxy to the network, which a test lets answer some requests itself. */
async function useProxy(place: TestSetup, answer: NonNullable<RpcProxyOptions['answer']>): Promise<void> {
  const proxy = await startRpcProxy(place.network.url, { answer })
  whenTestDone(() => proxy.close())
  await place.configure({ urls: [proxy.url] })
}

it('mints nothing twice if the first of several mints had its fees raised, and events are read late', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const ids = await signTwoMints(place, collection)
  const backup = await place.backUp()
  await bumpSigned(place)
  place.startMining()
  const before = await allSettled(place, ids)
  let isBusy = true
  await useProxy(place, ({ method }) =>
    isBusy && method === 'eth_getLogs' ? { error: { code: -32000, message: 'busy' } } : undefined,
  )
  await place.restore(backup)
  // Its nonce was used by a transaction that the backup doesn't have.
  await untilLogged(place, 'the chain has tokens that are not in the database', 'a transaction is signed')
  isBusy = false
  expect(await allSettled(place, ids)).toEqual(before)
  expect(await place.supplyOf(collection)).toBe(201n)
  const next = await mint(place.backend, collection, plainMetadata(1, 'next'))
  expect(await settled(place.backend, next)).toMatchObject([{ token_id: '202' }])
})

it('keeps the tokens of a mint that counted as lost because its node did not return it', async () => {
  const place = await setup()
  const { network } = place
  const collection = await deployedCollection(place)
  const ids = await signTwoMints(place, collection)
  const pool = await until(
    () => network.pool(),
    (hashes) => hashes.length === 2,
  )
  let hidden = pool[0]
  // A node that has yet to index old transactions.
  await useProxy(place, ({ method, params: [hash] }) =>
    method.startsWith('eth_getTransaction') && hash === hidden ? { result: null } : undefined,
  )
  await place.whileStopped(() => network.mine(10))
  place.startMining()
  await untilLogged(place, 'the chain has tokens that are not in the database')
  hidden = undefined
  const tokens = (await allSettled(place, ids)).map(({ token_id }) => token_id)
  expect(tokens).toEqual(ids.map((_, index) => String(index + 1)))
  expect(await place.supplyOf(collection)).toBe(201n)
})

it('mints no token twice if a backup is restored twice and the backend is stopped early', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const resume = await holdSigning(place.dataDir, 'mint')
  const ids = await mint(place.backend, collection, plainMetadata(2))
  const backup = await place.backUp()
  await resume()
  const before = await settled(place.backend, ids)
  for (let round = 0; round < 2; round++) {
    await place.restore(backup)
    await until(
      () => transactions(place),
      (rows) => rows.some(({ kind }) => kind === 'mint'),
    )
    await place.whileStopped(async () => {})
    expect(await settled(place.backend, ids)).toEqual(before)
  }
  expect(await place.supplyOf(collection)).toBe(2n)
})

it('blocks a collection with unknown tokens with 503 until it is released, and later mints continue after them', async () => {
  const place = await setup()
  const collection = await deployedCollection(place)
  const other = await deployedCollection(place)
  const backup = await place.backUp()
  await settled(place.backend, await mint(place.backend, collection, plainMetadata(3)))
  await place.restore(backup)
  expect(await untilUnexplained(place, collection)).toMatchObject([{ start_id: '1', token_count: 3 }])
  const refused = await mintWithReferences(place, collection, THREE)
  expect([refused.status, refused.headers.get('request-accepted')]).toEqual([503, 'no'])
  expect(refused.json.error.message).toMatch(/has 3 tokens on polygon that this backend has no record of/)
  expect(await (await place.backend.get('/readyz')).text()).toMatch(/3 unknown tokens/)
  // Other collections aren't affected.
  const elsewhere = await settled(place.backend, await mint(place.backend, other, plainMetadata(1)))
  expect(elsewhere).toMatchObject([{ status: 'deployed', token_id: '1' }])
  expect(await place.supplyOf(collection)).toBe(3n)
  await withStore(place.dataDir, (store) => releaseCollection(store, collection.address, { failPending: false }))
  const ids = await mint(place.backend, collection, plainMetadata(1))
  expect(await settled(place.backend, ids)).toMatchObject([{ status: 'deployed', token_id: '4' }])
  expect(await place.supplyOf(collection)).toBe(4n)
})
