/** @module-tag slow */
import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ResponseOf } from '../../../src/client/api-client.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { type FileServer, startFileServer, status } from '../../helpers/file-server.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, historyOf, metadataOf, update } from '../../helpers/updates.ts'

const [ALICE, BOB, CAROL] = WALLETS
const ZERO = '0x0000000000000000000000000000000000000000'
const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
const HASH = expect.stringMatching(/^0x[0-9a-f]{64}$/)

let backend: TestBackend
let files: FileServer

beforeAll(async () => {
  backend = await backendForFile()
  files = await startFileServer({ '/missing.png': status(404) })
})
afterAll(async () => {
  await files?.close()
})

const page = (request: object): Promise<ResponseOf<'getnfthistory'>> => call(backend, 'getnfthistory', request)

/** An event without the fields that it doesn't have. */
const DIGITS = expect.stringMatching(/^[1-9][0-9]*$/)
/** What the mint of an NFT has paid. */
const PAID = { gas_used: DIGITS, fee_paid: DIGITS, currency: 'POL', is_simulated: true }

const event = (more: object) => ({
  ...{ status: 'deployed', transaction_gdn_id: null, accepted_date: null, block_date: DATE, error: null },
  ...{ block_number: expect.any(Number), transaction_hash: HASH, from: null, to: null, revision: null },
  ...{ changes: null, changes_left_out: 0, ...more },
})

it('returns the life of an NFT in the order of the chain, also what was made outside of the service', async () => {
  const holder = newWallet()
  const { collection, ids, nfts } = await dynamicNfts(backend, ['Dawn'], {
    ...{ receiver: holder.address, enable_transfer: true, enable_burn: true },
  })
  const [id = ''] = ids
  const { address: contract_address, blockchain } = collection
  const updated = await update(backend, collection, id, 'Dusk')
  await ended(backend, updated)
  const status = await rpcOf(backend).send(holder, contract_address, {
    functionName: 'transferFrom',
    args: [holder.address, getAddress(BOB), BigInt(nfts[0]?.token_id ?? '')],
  })
  expect(status).toBe('success')
  const transfer = {
    ...{ contract_address, blockchain, nft_gdn_id: id, token_id: nfts[0]?.token_id },
    ...{ sender_wallet_address: BOB, receiver_wallet_address: CAROL },
  }
  const isBobs = async () => (await historyOf(backend, id)).some(({ to }) => to === BOB)
  await until(isBobs, Boolean)
  const moved = (await call(backend, 'transfernft', transfer)).response.transaction_gdn_id
  await ended(backend, moved)
  const frozen = (await call(backend, 'freezenft', { contract_address, nft_gdn_ids: [id] })).response.transaction_gdn_id
  await ended(backend, frozen)
  const burn = { contract_address, nft_gdn_id: id, holder_wallet_address: CAROL }
  const burned = (await call(backend, 'burnnft', burn)).response.transaction_gdn_id
  await ended(backend, burned)

  const events = await until(
    () => historyOf(backend, id),
    (found) => found.length === 6,
  )
  expect(events).toEqual([
    event({ ...PAID, kind: 'mint', accepted_date: DATE, to: holder.address }),
    event({
      ...{ kind: 'update', transaction_gdn_id: updated, accepted_date: DATE, revision: 1 },
      changes: [{ field: 'title', before: 'Dawn', after: 'Dusk' }],
    }),
    event({ kind: 'transfer', from: holder.address, to: BOB }),
    event({ kind: 'transfer', transaction_gdn_id: moved, accepted_date: DATE, from: BOB, to: CAROL }),
    event({ kind: 'freeze', transaction_gdn_id: frozen, accepted_date: DATE }),
    event({ kind: 'burn', transaction_gdn_id: burned, accepted_date: DATE, from: CAROL, to: ZERO }),
  ])
  const blocks = events.map(({ block_number: block }) => block)
  expect(blocks).toEqual([...blocks].sort((a, b) => Number(a) - Number(b)))

  const first = await page({ nft_gdn_id: id, limit: 4 })
  expect(first).toMatchObject({ requests: { nft_gdn_id: id, limit: 4 }, next_offset: 4 })
  const second = await page({ nft_gdn_id: id, limit: 2, offset: 4 })
  expect(second.next_offset).toBeNull()
  expect([...first.events, ...second.events]).toEqual(events)
})

it('shows a mint to a first owner and its transfer in one transaction once', async () => {
  const { address: contract_address, blockchain } = await createTestCollection(backend, { enable_transfer: true })
  const { nfts } = await call(backend, 'createnfttrans', {
    ...{ contract_address, blockchain, metadata: [metadataOf('a')] },
    ...{ sender_wallet_address: ALICE, receiver_wallet_address: BOB },
  })
  const [id = ''] = nfts.map((nft) => nft.nft_gdn_ids)
  await settled(backend, [id])
  expect(await historyOf(backend, id)).toEqual([
    event({ ...PAID, kind: 'mint', accepted_date: DATE, to: ALICE }),
    event({ kind: 'transfer', accepted_date: DATE, from: ALICE, to: BOB }),
  ])
})

it('marks what is pending or failed, and compares an update with the metadata before it', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['Dawn'])
  const [id = ''] = ids
  const file_fields = [{ key: 'image', url: `${files.url}/missing.png` }]
  const attribute = [{ tag: 'level', value: '1' }]
  const failed = await update(backend, collection, id, '', {
    metadata: [{ title: 'Lost', description: 'é'.repeat(700), attribute, file_fields }],
  })
  expect(await ended(backend, failed)).toMatchObject({ status: 'failed' })
  const done = await update(backend, collection, id, 'Noon')
  await ended(backend, done)
  const letGo = await holdSigning(backend.dataDir, 'update')
  const pending = await update(backend, collection, id, 'Dusk')
  const nowhere = { block_number: null, block_date: null, transaction_hash: null, accepted_date: DATE }
  expect(await historyOf(backend, id)).toEqual([
    event({ ...PAID, kind: 'mint', accepted_date: DATE, to: BOB }),
    event({
      ...{ kind: 'update', status: 'failed', transaction_gdn_id: failed, ...nowhere },
      error: expect.stringContaining('missing.png'),
      changes: [
        { field: 'title', before: 'Dawn', after: 'Lost' },
        { field: 'description', before: '', after: `${'é'.repeat(499)}…` },
        { field: 'file image', before: null, after: `${files.url}/missing.png` },
        { field: 'attribute level', before: null, after: '1' },
      ],
    }),
    event({
      ...{ kind: 'update', transaction_gdn_id: done, accepted_date: DATE, revision: 1 },
      changes: [{ field: 'title', before: 'Dawn', after: 'Noon' }],
    }),
    event({
      ...{ kind: 'update', status: 'initiated', transaction_gdn_id: pending, ...nowhere },
      changes: [{ field: 'title', before: 'Noon', after: 'Dusk' }],
    }),
  ])
  await letGo()
  await ended(backend, pending)
  expect((await historyOf(backend, id)).at(-1)).toMatchObject({ status: 'deployed', revision: 2 })
})

it('has the mint alone of an NFT that failed, and nothing of an unknown one', async () => {
  const collection = await createTestCollection(backend)
  const file_fields = [{ key: 'image', url: `${files.url}/missing.png` }]
  const ids = await mint(backend, collection, [{ title: 'a', description: '', file_fields }])
  await settled(backend, ids)
  const nowhere = { block_number: null, block_date: null, transaction_hash: null, accepted_date: DATE }
  expect(await historyOf(backend, ids[0] ?? '')).toEqual([
    event({ kind: 'mint', status: 'failed', to: expect.any(String), ...nowhere, error: expect.any(String) }),
  ])
  const unknown = await backend.post('/api/v1/getnfthistory', { nft_gdn_id: 'nobody' })
  expect(unknown).toMatchObject({ status: 404, json: { error: { message: 'there is no NFT nobody' } } })
  expect(unknown.headers.get('nft-history-supported')).toBe('yes')
})
