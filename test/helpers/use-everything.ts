import { computeSeal } from '../../src/api/provenance-seal.ts'
import * as nftStates from '../../src/server/state/nfts.ts'
import { failFreshNfts, holdFreshNfts } from '../../src/server/state/nfts.ts'
import * as transferStates from '../../src/server/state/transfers.ts'
import { shiftDueTimes } from '../../src/server/store/due-times.ts'
import { latestCollections } from '../../src/server/store/explorer-counts.ts'
import { listFailedNftsAfter, listNftsOfPendingTransaction, metadataAt } from '../../src/server/store/explorer-nfts.ts'
import { listChangedNftIds } from '../../src/server/store/explorer-transactions.ts'
import { releaseLeases, renewLeases } from '../../src/server/store/leases.ts'
import * as nfts from '../../src/server/store/nfts.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import { enqueueTestEvent } from '../../src/server/store/outbox.ts'
import { movePublicCursor, undoEvents } from '../../src/server/store/owner-events.ts'
import { findRequestByIdempotencyKey } from '../../src/server/store/requests.ts'
import * as transfers from '../../src/server/store/transfers.ts'
import { insertWebhook, updateWebhookRow } from '../../src/server/store/webhooks.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from './backend.ts'
import { show, store } from './explorer.ts'
import { SOLANA_COLLECTION, solanaWallet } from './solana.ts'
import { useRestOfStore } from './use-rest-of-store.ts'

const RUN = 'run-1'
const [ARTIST, HOLDER] = WALLETS
/** Simulates a request from another machine through a proxy, for which the web explorer requires a session. */
const FORWARDED = { 'x-forwarded-for': '203.0.113.7' }
const FROM_HERE = { 'x-forwarded-for': '127.0.0.1' }

/**
 * Sends a request to every endpoint, and takes an NFT through every step of the pipeline while a client watches events.
 */
export async function useEverything(dataDir: string): Promise<void> {
  const backend = await startTestBackend(dataDir, {
    trustProxy: ['127.0.0.1'],
    allowLocalKey: true,
    requireStoredFiles: true,
  })
  try {
    await withStore(dataDir, listen)
    const collection = await createTestCollection(backend, {
      max_supply: 1_000_000,
      ...{ enable_transfer: true, enable_burn: true, wallet_address: ARTIST },
    })
    const ids = await useApi(backend, collection)
    const updated = await useUpdates(backend, collection)
    await useExplorer(backend, collection, ids)
    await useSolana(backend)
    await withStore(dataDir, (opened) => useStore(opened, collection, ids[0] ?? '', updated))
  } finally {
    await backend.close()
  }
}

async function listen({ db }: Store): Promise<void> {
  const { id: account_id } = await db.selectFrom('accounts').select('id').executeTakeFirstOrThrow()
  await insertWebhook(db, {
    ...{ id: 'listener', account_id, kind: 'listener', url: '', events: '["*"]', secret: '' },
    ...{ status: 'active', created_at: 1, expires_at: null, failing_since: null },
  })
  await updateWebhookRow(db, 'listener', { events: '["*"]' })
}

async function useApi(backend: TestBackend, collection: TestCollection): Promise<string[]> {
  const { address: contract_address, blockchain } = collection
  const parties = { contract_address, blockchain, sender_wallet_address: ARTIST, receiver_wallet_address: HOLDER }
  const url = await store(backend, 'a file')
  const withFile = (from: string) => ({
    title: 'With a file',
    description: '',
    file_fields: [{ key: 'image', url: from }],
  })
  const fetched = [url, `${backend.url}/${url.replace(':/', '')}`, `${backend.url}/missing`].map(withFile)
  const options = { receiver: ARTIST, headers: { 'gdn-run': RUN, 'idempotency-key': 'key' } }
  const ids = await mint(backend, collection, [...plainMetadata(2), ...fetched], options)
  const [first] = await settled(backend, ids)
  await useReferences(backend, { contract_address, blockchain }, withFile(`${backend.url}/missing`))
  await call(backend, 'getnftgdnids', { contract_addresses: contract_address, blockchain })
  await call(backend, 'getisgdnnft', { receiver_wallet_address: ARTIST, blockchain, nft_gdn_ids: ids[0] })
  const { response } = await call(backend, 'transfernft', { ...parties, token_id: first?.token_id, nft_gdn_id: ids[0] })
  const transaction = { transaction_gdn_ids: [response.transaction_gdn_id] }
  const granted = await call(backend, 'createnfttrans', { ...parties, metadata: plainMetadata(1) })
  await settled(
    backend,
    granted.nfts.map((nft) => nft.nft_gdn_ids),
  )
  await until(
    () => call(backend, 'gettransactions', transaction),
    ({ transactions }) => transactions[0]?.status === 'deployed',
  )
  await call(backend, 'getpresignedurl', { email: 'artist@example.com' })
  await backend.get('/metrics')
  await backend.get('/readyz')
  return ids
}

/** Updates, freezes and burns NFTs, and lets an update fail. Returns the ID of an update. */
async function useUpdates(
  backend: TestBackend,
  { address: contract_address, blockchain }: TestCollection,
): Promise<string> {
  const metadata = ['First', 'Second', 'Third'].map((title) => ({ title, description: '', file_fields: [] }))
  const where = { contract_address, blockchain, receiver_wallet_address: ARTIST, metadata }
  const ids = (await call(backend, 'creatednft', where)).nfts.map((nft) => nft.nft_gdn_ids)
  await settled(backend, ids)
  const [first, second, third] = ids
  const stored = (await store(backend, 'another file')).replace(':/', '')
  const withFile = (path: string) => ({
    ...{ title: 'Updated', description: '', file_fields: [{ key: 'image', url: `${backend.url}/${path}` }] },
  })
  const changes = [
    call(backend, 'updatednft', { contract_address, nft_gdn_id: first, metadata: [withFile(stored)] }),
    call(backend, 'updatednft', { contract_address, nft_gdn_id: second, metadata: [withFile('missing')] }),
    call(backend, 'burnnft', { contract_address, nft_gdn_id: third, holder_wallet_address: ARTIST }),
  ]
  const [update, ...others] = await Promise.all(changes)
  await ended([update, ...others].flatMap((one) => one ?? []))
  await ended([await call(backend, 'freezenft', { contract_address, nft_gdn_ids: [first] })])
  await ended([await call(backend, 'commitprovenance', { contract_address, provenance: `0x${'ab'.repeat(32)}` })])
  await sealDrop(backend, contract_address)
  await call(backend, 'getprovenances', { contract_address })
  await call(backend, 'getnfthistory', { nft_gdn_id: first })
  await call(backend, 'getnftowners', { contract_address, blockchain: 'polygon', limit: 500 })
  await call(backend, 'getsupply', { contract_address, blockchain: 'polygon' })
  return update?.response.transaction_gdn_id ?? ''

  function ended(answers: readonly { response: { transaction_gdn_id: string } }[]) {
    const transaction_gdn_ids = answers.map(({ response }) => response.transaction_gdn_id)
    return until(
      () => call(backend, 'gettransactions', { transaction_gdn_ids }),
      ({ transactions }) => transactions.every(({ status }) => status !== 'initiated'),
    )
  }
}

/** Mints an NFT of a shuffled drop, and seals the drop. */
async function sealDrop(backend: TestBackend, contract_address: string): Promise<void> {
  const drop = `0x${'cd'.repeat(32)}`
  const leaves_url = await store(backend, 'leaves')
  const commit = async (body: object) => {
    const { response } = await call(backend, 'commitprovenance', { contract_address, ...body })
    const { transaction_gdn_id: id } = response
    await until(
      () => call(backend, 'gettransactions', { transaction_gdn_ids: [id] }),
      ({ transactions }) => transactions[0]?.status === 'deployed',
    )
  }
  await commit({ provenance: drop, shuffle_margin: 1 })
  const file_fields = [{ key: 'provenance', url: leaves_url }]
  const metadata = [{ title: 'Slot', description: '', file_fields, provenance_row: '1' }]
  await settled(backend, await mint(backend, { address: contract_address, blockchain: 'polygon' }, metadata))
  await commit({ provenance: computeSeal(drop), seal_of: drop, leaves_url })
}

/** Gives an NFT that fails and its replacement the same reference ID, and looks it up. */
async function useReferences(backend: TestBackend, where: object, metadata: object): Promise<void> {
  const body = {
    ...where,
    receiver_wallet_address: ARTIST,
    metadata: [metadata],
    reference_ids: ['row'],
    reference_label: 'a.csv',
  }
  const failing = await call(backend, 'createnft', body)
  await settled(
    backend,
    failing.nfts.map((nft) => nft.nft_gdn_ids),
  )
  await call(backend, 'createnft', { ...body, metadata: plainMetadata(1) })
  for (const operation of ['createnft', 'transfernft']) {
    await call(backend, 'getreferences', { ...where, operation, reference_ids: ['row'] })
  }
  await call(backend, 'getreferences', { operation: 'createcollection', reference_ids: ['row'] })
  const labels = { replaces_label: 'a.csv', reference_label: 'b.csv' }
  await call(backend, 'relabelreferences', { ...where, operation: 'createnft', reference_ids: ['row'], ...labels })
  const unnamed = { ...body, metadata: plainMetadata(1), reference_ids: ['content'], reference_kinds: ['content'] }
  const { nfts } = await call(backend, 'createnft', unnamed)
  const of = { ...where, operation: 'createnft', reference_label: 'a.csv' }
  await call(backend, 'getcontentreferences', of)
  await call(backend, 'aliasreferences', {
    ...of,
    reference_ids: ['id'],
    nft_gdn_ids: nfts.map(({ nft_gdn_ids }) => nft_gdn_ids),
  })
}

/** Requests each page of the web explorer, from this machine and with the session of an account. */
async function useExplorer(backend: TestBackend, { id, address }: TestCollection, ids: readonly string[]) {
  const login = await backend.post('/explorer/login', { api_key: backend.apiKey.reveal() }, FORWARDED)
  const session = { ...FORWARDED, cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '' }
  const lists = [`collections/${id}/nfts`, `runs/${RUN}/nfts`].flatMap((list) => [list, `${list}?status=failed`])
  const filtered = [`collections/${id}/nfts?q=nft`, `collections/${id}/nfts?owner=${ARTIST}`]
  const one = [`collections/${id}`, `nfts/${ids[0]}`, `runs/${RUN}`, `owners/${ARTIST}/nfts`]
  const found = ['nft', address, ids[0], '1', ARTIST].map((text) => `search?q=${text}`)
  for (const path of ['overview', 'collections', 'collections?q=te', 'runs', ...lists, ...filtered, ...one, ...found]) {
    await show(backend, path, FROM_HERE)
    await show(backend, path, session)
  }
}

async function useSolana(backend: TestBackend): Promise<void> {
  const collection = await createTestCollection(backend, { ...SOLANA_COLLECTION, image: await store(backend, 'logo') })
  const request = { contract_address: collection.address, blockchain: 'solana', metadata: plainMetadata(1) }
  const answer = await call(backend, 'createnft', { ...request, receiver_wallet_address: solanaWallet(1) })
  await settled(
    backend,
    answer.nfts.map((nft) => nft.nft_gdn_ids),
  )
}

/** Runs what only reverts, reorgs, lost leases, fault injection and webhooks use. */
async function useStore(
  opened: Store,
  { id: collectionId }: TestCollection,
  id: string,
  updated: string,
): Promise<void> {
  const { db } = opened
  const nft = await db.selectFrom('nfts').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const signed = db.selectFrom('transfers').selectAll().where('nft_id', '=', id).where('transaction_id', 'is not', null)
  const transfer = await signed.executeTakeFirstOrThrow()
  const cursor = await db.selectFrom('owner_cursors').selectAll().executeTakeFirstOrThrow()
  const { account_id: accountId } = await db.selectFrom('runs').select('account_id').executeTakeFirstOrThrow()
  const minted = nft.transaction_id ?? ''
  const transferred = transfer.transaction_id ?? ''
  await latestCollections(db, accountId, 20)
  await metadataAt(db, nft.seq)
  await listNftsOfPendingTransaction(db, minted, 10)
  await listFailedNftsAfter(db, { collectionId, run: RUN, after: 0 }, 10)
  await listChangedNftIds(db, 'transaction_id', transferred)
  await findRequestByIdempotencyKey(db, { accountId, endpoint: 'createnft', idempotencyKey: 'key' })
  await nfts.findNftOfTransaction(db, minted)
  await nfts.updateSignedNfts(db, minted, { transaction_id: minted })
  await transfers.transferFollowsUnfinal(db, transfer)
  await transfers.incrementTransferReverts(db, id)
  await transfers.resetReverts(db, id)
  await transfers.listUnknownMoves(db, id)
  await transfers.returnTransfer(db, transferred)
  await transferStates.withdrawTransfer(db, transferred)
  await nfts.incrementReverts(db, minted)
  await nfts.maxReverts(db, minted)
  await nfts.countPending(db, collectionId)
  await nfts.hasWaitingFiles(db, collectionId)
  await nftStates.requeueBundle(db, minted)
  await nftStates.failBundle(db, minted, 'reverted')
  await nftStates.failGrantsOfCollection(db, collectionId, 'refused')
  await nftStates.failNftsOfCollection(db, collectionId, 'refused')
  await nfts.postponeFiles(db, { ...nft, table: 'nfts' }, { attempts: 1, nextAttemptAt: 0 })
  await failFreshNfts(db, nft.request_id, 'fault injection')
  await holdFreshNfts(db, nft.request_id)
  await releaseLeases(opened)
  // Runs when the clock is set back.
  await shiftDueTimes(db, Date.now(), 1)
  // Only used if processes share a database. SQLite has no clock for it.
  if (opened.postgres !== null) await renewLeases(opened, 'nfts', [nft], 1000)
  await enqueueTestEvent(db, 'listener', 'nft.deployed', {})
  await movePublicCursor(db, { ...cursor, block_number: cursor.block_number + 1000 }, 10)
  const transaction = await db.selectFrom('transactions').selectAll().where('id', '=', minted).executeTakeFirstOrThrow()
  await useRestOfStore(opened, { transaction, nft, updated })
  await undoEvents(db, 'polygon', 0)
}
