import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createPublicClient, getAddress, http, parseAbi, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { NftRecord } from '../../../src/api/nft-record.ts'
import { requestAction } from '../../../src/server/admin/transactions.ts'
import { releaseCollection } from '../../../src/server/admin/unknown-mints.ts'
import { SMALL_FILE_BYTES } from '../../../src/server/storage/files.ts'
import { openMintsOf } from '../../../src/server/store/unknown-mints.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { bytes, type FileServer, pngOf, startFileServer } from '../../helpers/file-server.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { historyOf, TOKEN_ABI, titles, update } from '../../helpers/updates.ts'

const ABI = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function ownerOf(uint256) view returns (address)',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
])
const [, BOB, CAROL] = WALLETS

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let files: FileServer
let stopMining = async () => {}

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  // Smaller files are stored in the database.
  const pictureOf = (n: number) => Buffer.concat([pngOf(`picture ${n}`), Buffer.alloc(SMALL_FILE_BYTES)])
  const pictures = Object.fromEntries([0, 1, 2].map((n) => [`/${n}.png`, bytes(pictureOf(n))]))
  files = await startFileServer(pictures)
})
afterAll(async () => {
  await files?.close()
  await place?.remove()
  await real?.close()
})
beforeEach(async () => {
  startMining()
  backend = await place.start()
})
afterEach(async () => {
  await stopMining()
  await backend?.close()
})

const startMining = () => {
  stopMining = real.mineEvery(30)
}

const client = () => createPublicClient({ transport: http(real.url, { retryCount: 0 }) })
const supplyOf = ({ address }: TestCollection) =>
  client().readContract({ address: getAddress(address), abi: ABI, functionName: 'totalSupply' })
const ownerOf = ({ address }: TestCollection, token: string | null | undefined) =>
  client().readContract({ address: getAddress(address), abi: ABI, functionName: 'ownerOf', args: [BigInt(token ?? 0)] })

/** Transfers of tokens in a collection, without mints. */
const transfersOf = async ({ address }: TestCollection) => {
  const filter = { address: getAddress(address), fromBlock: 0n, event: ABI[2] } as const
  return (await client().getLogs(filter)).filter(({ args }) => args.from !== zeroAddress)
}

const stop = () => backend.close()
const start = async () => {
  backend = await place.start()
}

/** Stops the backend and backs up its database. */
async function stopAndBackUp(): Promise<string> {
  await stop()
  return await backUp(place.dataDir)
}

/** Starts the backend on a backup. */
async function startFrom(backup: string): Promise<void> {
  await stop()
  await restore(place.dataDir, backup)
  await start()
}

async function deployedCollection(request: Readonly<Record<string, unknown>> = {}): Promise<TestCollection> {
  const collection = await createTestCollection(backend, request)
  const isDeployed = async () => (await showCollection(backend, collection.id)).status === 'deployed'
  expect(await until(isDeployed, (deployed) => deployed)).toBe(true)
  return collection
}

const withPictures = () =>
  plainMetadata(3).map((metadata, n) => ({
    ...metadata,
    file_fields: [{ key: 'image', url: `${files.url}/${n}.png` }],
  }))

const grant = async (collection: TestCollection, metadata: readonly object[]) => {
  const { address: contract_address, blockchain } = collection
  const body = {
    ...{ contract_address, blockchain, metadata },
    ...{ sender_wallet_address: BOB, receiver_wallet_address: CAROL },
  }
  return (await call(backend, 'createnfttrans', body)).nfts.map((nft) => nft.nft_gdn_ids)
}

const ORDERS = {
  mint: (collection: TestCollection, metadata: readonly object[]) => mint(backend, collection, metadata),
  grant,
} as const

async function transfer(collection: TestCollection, nft: NftRecord, from: string, to: string): Promise<string> {
  const body = {
    ...{ contract_address: collection.address, blockchain: collection.blockchain },
    ...{ nft_gdn_id: nft.nft_gdn_id, token_id: nft.token_id },
    ...{ sender_wallet_address: from, receiver_wallet_address: to },
  }
  return (await call(backend, 'transfernft', body)).response.transaction_gdn_id
}

const showTransfer = async (id: string) =>
  (await call(backend, 'gettransactions', { transaction_gdn_ids: [id] })).transactions[0]
const ended = (id: string) =>
  until(
    () => showTransfer(id),
    (shown) => shown !== undefined && shown.status !== 'initiated',
  )

/** Raises the fees of the pending transaction, so that the mined attempt isn't in the backup. */
async function bumpSigned(): Promise<void> {
  const signings = () =>
    withStore(place.dataDir, async (store) => {
      const signed = store.db.selectFrom('transactions').selectAll().where('state', '=', 'signed')
      const [row] = await signed.orderBy('nonce').execute()
      if (row === undefined) return []
      const rows = store.db.selectFrom('transaction_attempts').select('hash').where('transaction_id', '=', row.id)
      const hashes = (await rows.orderBy('number').execute()).map(({ hash }) => hash)
      if (hashes.length === 0) await requestAction(store, row.id, 'bump', Date.now())
      return hashes.slice(1)
    })
  // The fees may be raised twice, since the request is also read while it is processed.
  const raisedInPool = async () => {
    const [raised, pool] = [await signings(), await real.pool()]
    return pool.filter((hash) => raised.some((one) => one === hash))
  }
  expect(await until(raisedInPool, (hashes) => hashes.length > 0)).not.toEqual([])
}

type Kind = 'mint' | 'grant' | 'transfer' | 'burn' | 'update' | 'provenance'

/** Holds the work at a step during the backup; resolves with a function that resumes it once the backend runs again. */
const STEPS = {
  'before it is signed': (kind: Kind) => holdSigning(place.dataDir, kind),
  async 'when it is signed'() {
    await stopMining()
    return async () => startMining()
  },
  async 'when it is signed, and its fees were raised later'() {
    await stopMining()
    return async () => {
      await bumpSigned()
      startMining()
    }
  },
} as const
const NAMES = Object.keys(STEPS) as (keyof typeof STEPS)[]

const signedRows = () =>
  withStore(place.dataDir, ({ db }) =>
    db.selectFrom('transactions').select('id').where('state', '=', 'signed').execute(),
  )

/** Resolves when every transaction is final: a burn isn't signed before its mint is. */
async function allFinal(): Promise<void> {
  const watched = () =>
    withStore(place.dataDir, ({ db }) => db.selectFrom('transactions').select('id').where('watched', '=', 1).execute())
  expect(await until(watched, (rows) => rows.length === 0)).toEqual([])
}

/** Same as `settled`, for any number of NFTs. */
async function allSettled(ids: readonly string[]): Promise<NftRecord[]> {
  const all: NftRecord[] = []
  for (let at = 0; at < ids.length; at += 100) all.push(...(await settled(backend, ids.slice(at, at + 100))))
  return all
}

/** Resolves when the work has reached a step. */
async function reached(step: keyof typeof STEPS, waiting: 'nfts' | 'transfers' | 'updates'): Promise<void> {
  if (step !== 'before it is signed') return void (await until(signedRows, (rows) => rows.length > 0))
  const rows = () =>
    withStore(place.dataDir, async ({ db }) =>
      waiting === 'nfts'
        ? await db.selectFrom('nfts').select('id').where('step', '=', 'mint').execute()
        : await db.selectFrom(waiting).select('id').where('status', '=', 'initiated').execute(),
    )
  expect((await until(rows, (found) => found.length > 0)).length).toBeGreaterThan(0)
  expect(await signedRows()).toEqual([])
}

describe.each(['mint', 'grant'] as const)('a backup of a pending %s, restored after its completion', (order) => {
  it.each(NAMES)('%s: assigns every NFT its token, and mints nothing twice', async (step) => {
    const collection = await deployedCollection({ enable_transfer: true })
    const letGo = await STEPS[step](order)
    const ids = await ORDERS[order](collection, plainMetadata(3))
    await reached(step, 'nfts')
    const backup = await stopAndBackUp()
    await start()
    await letGo()
    const before = await settled(backend, ids)
    await startFrom(backup)
    const after = await settled(backend, ids)
    expect(after).toEqual(before)
    expect(await supplyOf(collection)).toBe(3n)
    // The metadata directory is restored.
    for (const { metadata_url } of after) {
      expect((await backend.get(`/ipfs/${String(metadata_url).slice('ipfs://'.length)}`)).status).toBe(200)
    }
    const next = await mint(backend, collection, plainMetadata(1, 'next'))
    expect(await settled(backend, next)).toMatchObject([{ token_id: '4' }])
    expect(await supplyOf(collection)).toBe(4n)
  })
})

describe('a backup of a pending transfer, restored after its completion', () => {
  it.each(NAMES)('%s: settles it by its transaction, and transfers nothing again', async (step) => {
    const collection = await deployedCollection({ enable_transfer: true })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    if (nft === undefined) throw new Error('no NFT')
    const letGo = await STEPS[step]('transfer')
    const id = await transfer(collection, nft, BOB, CAROL)
    await reached(step, 'transfers')
    const backup = await stopAndBackUp()
    await start()
    await letGo()
    const before = await ended(id)
    expect(before?.status).toBe('deployed')
    await startFrom(backup)
    expect(await ended(id)).toEqual(before)
    expect(await ownerOf(collection, nft.token_id)).toBe(CAROL)
    expect((await showNfts(backend, [nft.nft_gdn_id]))[0]?.receiver_wallet_address).toBe(CAROL)
    expect(await transfersOf(collection)).toHaveLength(1)
  })
})

describe('a backup of a pending burn, restored after its completion', () => {
  it.each(NAMES)('%s: settles it by its transaction', async (step) => {
    const collection = await deployedCollection({ enable_burn: true })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    await allFinal()
    const letGo = await STEPS[step]('burn')
    const body = { contract_address: collection.address, nft_gdn_id: nft?.nft_gdn_id, holder_wallet_address: BOB }
    const id = (await call(backend, 'burnnft', body)).response.transaction_gdn_id
    await reached(step, 'transfers')
    const backup = await stopAndBackUp()
    await start()
    await letGo()
    const before = await ended(id)
    expect(before?.status).toBe('deployed')
    await startFrom(backup)
    expect(await ended(id)).toEqual(before)
    expect((await showNfts(backend, [nft?.nft_gdn_id ?? '']))[0]?.burned).toBe(true)
  })
})

describe('a backup of a pending commitment, restored after its completion', () => {
  it.each(NAMES)('%s: counts it as done, and commits nothing again', async (step) => {
    const { address: contract_address } = await deployedCollection()
    const provenance = `0x${'ab'.repeat(32)}`
    const letGo = await STEPS[step]('provenance')
    const id = (await call(backend, 'commitprovenance', { contract_address, provenance })).response.transaction_gdn_id
    await reached(step, 'updates')
    const backup = await stopAndBackUp()
    await start()
    await letGo()
    expect((await ended(id))?.status).toBe('deployed')
    await startFrom(backup)
    expect((await ended(id))?.status).toBe('deployed')
    const { provenances } = await call(backend, 'getprovenances', { contract_address })
    expect(provenances).toMatchObject([{ provenance, first_token_id: '1', transaction_gdn_id: id }])
    const signed = await withStore(place.dataDir, ({ db }) =>
      db.selectFrom('transactions').select('state').where('kind', '=', 'provenance').execute(),
    )
    expect(signed.filter(({ state }) => state === 'reverted')).toEqual([])
  })
})

/** Events of updates in a collection, by ERC-4906. */
const updatesOf = async ({ address }: TestCollection) =>
  (await client().getLogs({ address: getAddress(address), fromBlock: 0n, events: [TOKEN_ABI[5], TOKEN_ABI[6]] })).length

describe('a backup of a pending update, restored after its completion', () => {
  it.each(NAMES)('%s: settles it by its transaction, and updates nothing again', async (step) => {
    const collection = await deployedCollection({ dynamic: true })
    const ids = await mint(backend, collection, plainMetadata(3))
    await settled(backend, ids)
    const letGo = await STEPS[step]('update')
    const waiting = await Promise.all([0, 1].map((n) => update(backend, collection, ids[n] ?? '', `new ${n}`)))
    await reached(step, 'updates')
    const backup = await stopAndBackUp()
    await start()
    await letGo()
    const before = await Promise.all(waiting.map(ended))
    expect(before.map((one) => one?.status)).toEqual(['deployed', 'deployed'])
    const [nfts, events] = [await showNfts(backend, ids), await updatesOf(collection)]
    const history = await historyOf(backend, ids[0] ?? '')
    await startFrom(backup)
    expect(await Promise.all(waiting.map(ended))).toEqual(before)
    expect(await showNfts(backend, ids)).toEqual(nfts)
    const expected = ['new 0', 'new 1', 'NFT 2']
    expect(await titles(backend, collection, ids, client())).toEqual({ chain: expected, api: expected })
    expect(await updatesOf(collection)).toBe(events)
    expect(await historyOf(backend, ids[0] ?? '')).toEqual(history)
    const next = await update(backend, collection, ids[2] ?? '', 'next', { replaces_revision: 0 })
    expect((await ended(next))?.status).toBe('deployed')
  })
})

it('shows the revision of an update from after the backup, and rejects one that replaces the revision before', async () => {
  const collection = await deployedCollection({ dynamic: true })
  const ids = await mint(backend, collection, plainMetadata(2))
  await settled(backend, ids)
  const backup = await stopAndBackUp()
  await start()
  await ended(await update(backend, collection, ids[0] ?? '', 'later', { replaces_revision: 0 }))
  const [later] = await showNfts(backend, ids)
  const history = await historyOf(backend, ids[0] ?? '')
  await startFrom(backup)
  // Any update examines what is on chain first.
  await ended(await update(backend, collection, ids[1] ?? '', 'other'))
  const [restored, other] = await showNfts(backend, ids)
  expect(restored).toMatchObject({ revision: 1, metadata_url: later?.metadata_url })
  expect(other).toMatchObject({ revision: 2 })
  // The chain has the update, but not the request with its metadata.
  const forgotten = { transaction_gdn_id: null, accepted_date: null, changes: null }
  const [minted, updated] = history
  expect(await historyOf(backend, ids[0] ?? '')).toEqual([minted, { ...updated, ...forgotten }])
  const body = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: plainMetadata(1) }
  const refused = await backend.post('/api/v1/updatednft', { ...body, replaces_revision: 0 })
  expect(refused.json.error.message).toMatch(/the NFT has revision 1/)
  await ended(await update(backend, collection, ids[0] ?? '', 'last', { replaces_revision: 1 }))
  expect((await titles(backend, collection, ids, client())).chain).toEqual(['last', 'other'])
  expect((await historyOf(backend, ids[0] ?? '')).map(({ revision }) => revision)).toEqual([null, 1, 3])
})

it('keeps a collection and its NFTs after a restore to before its deployment, and mints nothing twice', async () => {
  const letGo = await holdSigning(place.dataDir, 'collection')
  const collection = await createTestCollection(backend)
  const ids = await mint(backend, collection, plainMetadata(3))
  const backup = await stopAndBackUp()
  await letGo()
  await start()
  const before = await settled(backend, ids)
  await startFrom(backup)
  expect(await settled(backend, ids)).toEqual(before)
  expect(await supplyOf(collection)).toBe(3n)
})

/** Sends a request with each NFT's title as its reference ID. */
const order = async (collection: TestCollection, metadata: readonly object[], headers: Record<string, string> = {}) => {
  const reference_ids = metadata.map((one) => ('title' in one ? String(one.title).replace(' ', '-') : ''))
  const { address: contract_address, blockchain } = collection
  const body = { contract_address, blockchain, receiver_wallet_address: BOB, metadata, reference_ids }
  return await backend.post('/api/v1/createnft', body, headers)
}

it('counts what an adopted mint paid toward the limit of its run', async () => {
  const collection = await deployedCollection()
  const letGo = await holdSigning(place.dataDir, 'mint')
  const limited = { 'gdn-run': 'a-run', 'gdn-run-max-cost': String(10n ** 18n) }
  const ids = (await order(collection, plainMetadata(3), limited)).json.nfts.map(
    (nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids,
  )
  const backup = await stopAndBackUp()
  await letGo()
  await start()
  const paid = () =>
    withStore(place.dataDir, async ({ db }) => {
      const rows = await db.selectFrom('transactions').select('fee_paid').where('run', '=', 'a-run').execute()
      return rows.map(({ fee_paid }) => BigInt(fee_paid ?? 0))
    })
  await settled(backend, ids)
  const before = await paid()
  expect(before).toEqual([expect.toSatisfy((fee: bigint) => fee > 0n)])
  await startFrom(backup)
  await settled(backend, ids)
  expect(await paid()).toEqual(before)
})

it('keeps the reference ID of a token adopted after a restore, so that a repeated request mints nothing', async () => {
  const collection = await deployedCollection()
  const letGo = await holdSigning(place.dataDir, 'mint')
  const first = await order(collection, plainMetadata(3))
  const backup = await stopAndBackUp()
  await letGo()
  await start()
  const ids = first.json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  const before = await settled(backend, ids)
  await startFrom(backup)
  const again = await order(collection, plainMetadata(3).reverse())
  expect(again.status).toBe(200)
  expect(again.json.nfts).toMatchObject([...ids].reverse().map((id) => ({ nft_gdn_ids: id, created: false })))
  expect(await settled(backend, ids)).toEqual(before)
  const repeated = await order(collection, plainMetadata(3))
  expect(repeated.json.nfts).toMatchObject(ids.map((id: string) => ({ nft_gdn_ids: id, created: false })))
  expect(await supplyOf(collection)).toBe(3n)
})

it('rejects reference IDs from after the backup while tokens are unknown, and returns the NFTs of known ones', async () => {
  const collection = await deployedCollection()
  const known = await order(collection, plainMetadata(1))
  const ids = known.json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  await settled(backend, ids)
  const backup = await stopAndBackUp()
  await start()
  const later = await order(collection, plainMetadata(1, 'later'))
  await settled(backend, [later.json.nfts[0].nft_gdn_ids])
  await startFrom(backup)
  const open = () => withStore(place.dataDir, ({ db }) => openMintsOf(db, collection.id))
  await until(open, (rows) => rows.some(({ state }) => state === 'unexplained'))
  const mixed = await order(collection, [...plainMetadata(1), ...plainMetadata(1, 'later')])
  expect([mixed.status, mixed.headers.get('request-accepted')]).toEqual([503, 'no'])
  const again = await order(collection, plainMetadata(1))
  expect(again.json.nfts).toMatchObject([{ nft_gdn_ids: ids[0], created: false }])
  expect(await supplyOf(collection)).toBe(2n)
})

it('keeps the reference ID of an NFT that failed because its token may exist', async () => {
  const collection = await deployedCollection()
  const letGo = await holdSigning(place.dataDir, 'mint')
  const pending = await order(collection, plainMetadata(1))
  const backup = await stopAndBackUp()
  await start()
  const later = await order(collection, plainMetadata(1, 'later'))
  await letGo()
  await settled(
    backend,
    [pending, later].map(({ json }) => json.nfts[0].nft_gdn_ids),
  )
  await startFrom(backup)
  const open = () => withStore(place.dataDir, ({ db }) => openMintsOf(db, collection.id))
  await until(open, (rows) => rows.some(({ state }) => state === 'unexplained'))
  await withStore(place.dataDir, (store) => releaseCollection(store, collection.address, { failPending: true }))
  const id = pending.json.nfts[0].nft_gdn_ids
  expect(await settled(backend, [id])).toMatchObject([{ status: 'failed' }])
  expect((await order(collection, plainMetadata(1))).json.nfts).toMatchObject([{ nft_gdn_ids: id, created: false }])
  expect(await supplyOf(collection)).toBe(2n)
})

/** Deletes the files and restores the backup; resolves when NFTs and pictures are restored. */
async function startWithoutFiles(backup: string, collection: TestCollection, before: NftRecord[]): Promise<void> {
  await stop()
  await restore(place.dataDir, backup)
  await rm(join(place.dataDir, 'files'), { recursive: true, force: true })
  await start()
  const ids = before.map(({ nft_gdn_id }) => nft_gdn_id)
  expect(await settled(backend, ids)).toEqual(before)
  expect(await supplyOf(collection)).toBe(3n)
  for (const { metadata_url } of before) {
    const file = await backend.get(`/ipfs/${String(metadata_url).slice('ipfs://'.length)}`)
    const { image } = (await file.json()) as { image: string }
    expect((await backend.get(`/ipfs/${image.slice('ipfs://'.length)}`)).status).toBe(200)
  }
}

it('recognizes NFTs whose files were still being fetched, and restores the files', async () => {
  const collection = await deployedCollection()
  const ids = await mint(backend, collection, withPictures())
  const backup = await stopAndBackUp()
  await start()
  await startWithoutFiles(backup, collection, await settled(backend, ids))
})

it('recognizes NFTs with stored files, and fetches files that the storage lost', async () => {
  const collection = await deployedCollection()
  const letGo = await holdSigning(place.dataDir, 'mint')
  const ids = await mint(backend, collection, withPictures())
  const waiting = () =>
    withStore(place.dataDir, ({ db }) => db.selectFrom('nfts').select('id').where('step', '=', 'mint').execute())
  await until(waiting, (rows) => rows.length === ids.length)
  const backup = await stopAndBackUp()
  await start()
  await letGo()
  await startWithoutFiles(backup, collection, await settled(backend, ids))
})

it('assigns their tokens to NFTs of several batches that were minted out of order', async () => {
  const collection = await deployedCollection()
  const ids: string[] = []
  const late = { title: 'late', description: '', file_fields: [{ key: 'image', url: `${files.url}/late.png` }] }
  for (const metadata of [plainMetadata(2, 'a'), [late, ...plainMetadata(2, 'b')], plainMetadata(1, 'same')]) {
    ids.push(...(await mint(backend, collection, metadata)))
  }
  ids.push(...(await mint(backend, collection, plainMetadata(1, 'same'))))
  const backup = await stopAndBackUp()
  await start()
  const before = await settled(backend, ids)
  await startFrom(backup)
  expect(await settled(backend, ids)).toEqual(before)
  expect(await supplyOf(collection)).toBe(7n)
})

it('finds every token of 8 mints that were in flight after a backup, and mints nothing twice', async () => {
  const collection = await deployedCollection()
  await stop()
  await stopMining()
  await place.write({ urls: [real.url], more: { mints_in_flight: 2 } })
  await start()
  const ids: string[] = []
  for (let request = 0; request < 15; request++) {
    ids.push(...(await mint(backend, collection, plainMetadata(100, `Drop ${request}`))))
  }
  expect(await until(signedRows, (rows) => rows.length === 2)).toHaveLength(2)
  const backup = await stopAndBackUp()
  await place.write({ urls: [real.url] })
  await start()
  expect(await until(signedRows, (rows) => rows.length === 7)).toHaveLength(7)
  startMining()
  const before = await allSettled(ids)
  expect(await supplyOf(collection)).toBe(1500n)
  await startFrom(backup)
  expect(await allSettled(ids)).toEqual(before)
  expect(await supplyOf(collection)).toBe(1500n)
  expect(new Set(before.map(({ token_id }) => token_id)).size).toBe(1500)
})

it('mints nothing twice if the first of several mints had its fees raised, and events are read late', async () => {
  const collection = await deployedCollection()
  await stopMining()
  const ids = await mint(backend, collection, plainMetadata(1))
  await until(signedRows, (rows) => rows.length === 1)
  ids.push(...(await mint(backend, collection, plainMetadata(200, 'Second'))))
  await until(signedRows, (rows) => rows.length === 2)
  const backup = await stopAndBackUp()
  await start()
  await bumpSigned()
  startMining()
  const before = await allSettled(ids)
  let refused = true
  const proxy = await startRpcProxy(real.url, {
    answer: ({ method }) =>
      refused && method === 'eth_getLogs' ? { error: { code: -32000, message: 'busy' } } : undefined,
  })
  try {
    await place.write({ urls: [proxy.url] })
    await startFrom(backup)
    // Its nonce was used by a transaction that the backup doesn't have.
    await until(
      () => backend.log.join(''),
      (log) =>
        log.includes('the chain has tokens that the database does not know') || log.includes('a transaction is signed'),
    )
    refused = false
    expect(await allSettled(ids)).toEqual(before)
    expect(await supplyOf(collection)).toBe(201n)
    const next = await mint(backend, collection, plainMetadata(1, 'next'))
    expect(await settled(backend, next)).toMatchObject([{ token_id: '202' }])
  } finally {
    await place.write({ urls: [real.url] })
    await proxy.close()
  }
})

it('keeps the tokens of a mint that counted as lost because its node did not return it', async () => {
  const collection = await deployedCollection()
  await stopMining()
  const ids = await mint(backend, collection, plainMetadata(1))
  await until(signedRows, (rows) => rows.length === 1)
  ids.push(...(await mint(backend, collection, plainMetadata(200, 'Second'))))
  const pool = await until(
    () => real.pool(),
    (hashes) => hashes.length === 2,
  )
  await stop()
  await real.mine(10)
  let hidden: string | undefined = pool[0]
  // A node that has yet to index old transactions.
  const proxy = await startRpcProxy(real.url, {
    answer: ({ method, params: [hash] }) =>
      method.startsWith('eth_getTransaction') && hash === hidden ? { result: null } : undefined,
  })
  try {
    await place.write({ urls: [proxy.url] })
    await start()
    startMining()
    await until(
      () => backend.log.join(''),
      (log) => log.includes('the chain has tokens that the database does not know'),
    )
    hidden = undefined
    const tokens = (await allSettled(ids)).map(({ token_id }) => token_id)
    expect(tokens).toEqual(ids.map((_, index) => String(index + 1)))
    expect(await supplyOf(collection)).toBe(201n)
  } finally {
    await place.write({ urls: [real.url] })
    await proxy.close()
  }
})

it('mints no token twice if a backup is restored twice and the backend is stopped early', async () => {
  const collection = await deployedCollection()
  const letGo = await holdSigning(place.dataDir, 'mint')
  const ids = await mint(backend, collection, plainMetadata(2))
  const backup = await stopAndBackUp()
  await letGo()
  await start()
  const before = await settled(backend, ids)
  for (let round = 0; round < 2; round++) {
    await startFrom(backup)
    const taken = () =>
      withStore(place.dataDir, ({ db }) =>
        db.selectFrom('transactions').select('kind').where('collection_id', '=', collection.id).execute(),
      )
    await until(taken, (rows) => rows.some(({ kind }) => kind === 'mint'))
    await stop()
    await start()
    expect(await settled(backend, ids)).toEqual(before)
  }
  expect(await supplyOf(collection)).toBe(2n)
})

describe('unknown tokens', () => {
  it('block the collection with 503 until it is released, and later mints continue after them', async () => {
    const collection = await deployedCollection()
    const other = await deployedCollection()
    const backup = await stopAndBackUp()
    await start()
    await settled(backend, await mint(backend, collection, plainMetadata(3)))
    await startFrom(backup)
    const body = {
      ...{ contract_address: collection.address, blockchain: collection.blockchain },
      ...{ receiver_wallet_address: BOB, metadata: plainMetadata(3) },
    }
    const ask = () => backend.post('/api/v1/createnft', body)
    const openMints = () => withStore(place.dataDir, ({ db }) => openMintsOf(db, collection.id))
    const isStopped = (rows: readonly { state: string }[]) => rows.some(({ state }) => state === 'unexplained')
    expect(await until(openMints, isStopped)).toMatchObject([{ start_id: '1', token_count: 3 }])
    const refused = await ask()
    expect(refused.status).toBe(503)
    expect(refused.headers.get('request-accepted')).toBe('no')
    expect(refused.json.error.message).toMatch(/has 3 tokens on polygon that this backend does not know/)
    const ready = await (await backend.get('/readyz')).json()
    expect(JSON.stringify(ready)).toMatch(/3 unknown tokens/)
    // Other collections aren't affected.
    const elsewhere = await settled(backend, await mint(backend, other, plainMetadata(1)))
    expect(elsewhere).toMatchObject([{ status: 'deployed', token_id: '1' }])
    expect(await supplyOf(collection)).toBe(3n)
    await withStore(place.dataDir, (store) => releaseCollection(store, collection.address, { failPending: false }))
    const ids = await mint(backend, collection, plainMetadata(1))
    expect(await settled(backend, ids)).toMatchObject([{ status: 'deployed', token_id: '4' }])
    expect(await supplyOf(collection)).toBe(4n)
  })
})
