import { sql } from 'kysely'
import { decodeFunctionData, encodeFunctionResult, zeroAddress } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { burnnft } from '../../../src/api/endpoints/burnnft.ts'
import { updatednft } from '../../../src/api/endpoints/updatednft.ts'
import { Secret } from '../../../src/core/secret.ts'
import { gdnCollection } from '../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { burnNft } from '../../../src/server/services/burn-nft.ts'
import type { ServiceDeps } from '../../../src/server/services/services.ts'
import { updateNft } from '../../../src/server/services/update-nft.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { freshDataDir, WALLETS } from '../../helpers/backend.ts'
import { gate } from '../../helpers/gate.ts'
import { insertCollection, insertNfts } from '../../helpers/rows.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const NFT = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
const [OWNER = '', BOB = ''] = WALLETS

// Two stores stand for two processes. They share only the database.
let folder: Awaited<ReturnType<typeof freshDataDir>>
let first: Store
let second: Store

beforeEach(async () => {
  folder = await freshDataDir()
  const url = new Secret((await databaseUrlOf(folder.path)) ?? '')
  first = await openPostgres({ url })
  second = await openPostgres({ url })
  const { db } = first
  await db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
  const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  await insertRequest(db, { ...request, accepted_at: 1 })
  await insertCollection(db, {
    ...{ id: 'c', account_id: 'a', request_id: 'r', blockchain: 'polygon', name: 'c', symbol: 'C' },
    ...{ wallet_address: OWNER, contract_address: CONTRACT, factory_address: 'f', enable_api: 1, enable_transfer: 0 },
    ...{ is_locked: 0, description: null, image: null, status: 'deployed', next_token_id: '2', next_attempt_at: 0 },
    ...{ contract_version: 2, dynamic: 1, enable_burn: 1 },
  })
  await insertNfts(db, [
    {
      ...{ id: NFT, request_id: 'r', collection_id: 'c', receiver: BOB, owner: BOB, metadata: '{}', token_id: '1' },
      ...{ status: 'deployed', step: 'done', next_attempt_at: 0 },
    },
  ])
})
afterEach(async () => {
  await Promise.all([first?.close(), second?.close()])
  await folder?.remove()
})

const { abi } = gdnCollection

/** The collection and its token on chain. */
function answer(data: Hex): Hex {
  const { functionName } = decodeFunctionData({ abi, data })
  const [owner, holder] = [OWNER as Hex, BOB as Hex]
  const rights = { owner, enableApi: true, enableTransfer: false, revoked: false, locked: false, nextTokenId: 2n }
  const common = { version: 2n, dynamic: true, enableBurn: true, frozen: false }
  const lifecycle = { ...common, updateCount: 0, pendingOwner: zeroAddress }
  switch (functionName) {
    case 'state':
      return encodeFunctionResult({ abi, functionName, result: rights })
    case 'lifecycle':
      return encodeFunctionResult({ abi, functionName, result: lifecycle })
    case 'metadataState':
      return encodeFunctionResult({ abi, functionName, result: { revision: 0, dynamic: true, frozen: false } })
    case 'ownerOf':
      return encodeFunctionResult({ abi, functionName, result: holder })
    default:
      throw new Error(`unexpected call of ${functionName}`)
  }
}

const depsOf = (store: Store) =>
  ({
    ...{ store, now: () => 1, storage: null, checkedFiles: null, signedUrls: null, comparedGroups: new Set() },
    chains: {
      remote: new Map(),
      network: async () => ({ request: async (_: string, [{ data }]: [{ data: Hex }]) => answer(data) }),
    },
    pipeline: { nftsAccepted() {}, transferAccepted() {} },
  }) as unknown as ServiceDeps

let requests = 0
const requestOf = <Parsed>(schema: { parse(body: unknown): Parsed }, body: Readonly<Record<string, unknown>>) => ({
  ...{ accountId: 'a', parsed: schema.parse(body), body, idempotencyKey: null, run: null },
  ...{ requestId: `request-${requests++}`, origin: () => '' },
})

const update = (store: Store) =>
  updateNft(
    depsOf(store),
    requestOf(updatednft.request, {
      ...{ nft_gdn_id: NFT, contract_address: CONTRACT, replaces_revision: 0 },
      metadata: [{ title: 'Dusk', description: '', file_fields: [] }],
    }),
  )
const burn = (store: Store) =>
  burnNft(
    depsOf(store),
    requestOf(burnnft.request, { contract_address: CONTRACT, nft_gdn_id: NFT, holder_wallet_address: BOB }),
  )

/** Resolves once a request has ended, or waits for a lock of another process. */
async function endsOrWaits(request: Promise<unknown>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  request.then(end, end)
  for (;;) {
    const { rows } = await sql`select 1 from pg_locks where not granted`.execute(first.db)
    if (ended || rows.length > 0) return
  }
}

it.each([
  ['a burn and an update', burn, update],
  ['an update and a burn', update, burn],
  ['two updates', update, update],
])('accepts the first of %s of an NFT that two processes receive at once', async (_, one, other) => {
  const held = gate()
  const accepted = one({ ...first, onAccepted: held.pass })
  await held.reached
  const refused = other(second)
  await endsOrWaits(refused)
  held.open()
  await accepted
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining('is pending') })
})

it('refuses an update if another process settles one with the revision that it replaces', async () => {
  const held = gate()
  const settling = first.transaction(async (db) => {
    await db.updateTable('nfts').set({ revision: 1 }).execute()
    await held.pass()
  })
  await held.reached
  const refused = update(second)
  await endsOrWaits(refused)
  held.open()
  await settling
  await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('the NFT has revision 1') })
})
