import { sql } from 'kysely'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createnft } from '../../../src/api/endpoints/createnft.ts'
import { Secret } from '../../../src/core/secret.ts'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import { mayReplace } from '../../../src/server/pipeline/evm/limit-fees.ts'
import { createNftsService } from '../../../src/server/services/create-nfts.ts'
import { Refusal } from '../../../src/server/services/refusals.ts'
import type { ServiceDeps } from '../../../src/server/services/services.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { lockRunOfCollection, setLimit } from '../../../src/server/store/run-costs.ts'
import { temporaryDataDir, until, WALLETS } from '../../helpers/backend.ts'
import { gate } from '../../helpers/gate.ts'
import { insertAccountAndRequest, insertCollection } from '../../helpers/rows.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

const ACCOUNT = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const FEES = { low: 1n, typical: 1n, high: 1n, offered: 1n, base: 1n, data: { bytes: 1, fee: 0n, gas: 0n } }
const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

// Two stores stand for two processes. They share only the database.
let folder: string
let stores: [Store, Store]

beforeEach(async () => {
  folder = await temporaryDataDir()
  const url = new Secret((await databaseUrlOf(folder)) ?? '')
  stores = [await openPostgres({ url }), await openPostgres({ url })]
  const [{ db }] = stores
  await insertAccountAndRequest(db, { accepted_at: 1 })
  await insertCollection(db, { contract_address: CONTRACT, enable_transfer: 0, status: 'initiated' })
})
afterEach(() => Promise.all((stores ?? []).map((store) => store.close())))

/** A network without base fees. */
const network = {
  request: async (method: string) => (method === 'eth_gasPrice' ? '0x1' : method === 'eth_call' ? '0x' : null),
}

/** Sends a request for one NFT to the process of this store. Returns whether it was accepted. */
async function send(store: Store, name: string, wei: bigint | null, isSet = false): Promise<boolean> {
  const body = {
    ...{ contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: WALLETS[1] },
    metadata: [{ title: name, description: '', file_fields: [] }],
  }
  const chains = { remote: new Map(), network: async () => network }
  const deps = {
    ...{ store, now: () => 1, chains, pipeline: { onNftsAccepted() {} } },
    ...{ storage: null, checkedFiles: null, signedUrls: null },
  } as unknown as ServiceDeps
  const request = {
    ...{ accountId: 'a', parsed: createnft.request.parse(body), body, idempotencyKey: null, run: 'run' },
    ...{ maxCost: wei === null ? null : { wei, isSet }, requestId: name, origin: () => '' },
  }
  return await createNftsService('createnft')(deps, request).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof Refusal) || error.status !== 409) throw error
      return false
    },
  )
}

it('two processes that accept rows of a run at the same time stay within its limit', async () => {
  const one = mintGasLimit([{ receiver: '0x', count: 1 }]) * EMBEDDED_FEES.maxFeePerGas
  const responses = Array.from({ length: 40 }, (_, index) =>
    send(stores[index % 2 === 0 ? 0 : 1], `n${index}`, 7n * one),
  )
  const accepted = (await Promise.all(responses)).filter((isAccepted) => isAccepted)
  expect(accepted).toHaveLength(7)
  const rows = await stores[0].db.selectFrom('nfts').select('id').execute()
  expect(rows).toHaveLength(7)
})

it('a limit that a person has set applies to other processes, also when its request is refused', async () => {
  const one = mintGasLimit([{ receiver: '0x', count: 1 }]) * EMBEDDED_FEES.maxFeePerGas
  expect(await send(stores[0], 'n0', one - 1n, true)).toBe(false)
  expect(await send(stores[1], 'n1', null)).toBe(false)
  const run = await stores[1].db.selectFrom('runs').select(['run', 'collection_id', 'max_cost']).executeTakeFirst()
  expect(run).toEqual({ run: 'run', collection_id: 'c', max_cost: String(one - 1n) })
  expect(await stores[0].db.selectFrom('requests').select('id').execute()).toEqual([{ id: 'r' }])
})

it('a transaction that is signed again while its run gets a limit stays within that limit', async () => {
  const [one, other] = stores
  await send(one, 'n0', null)
  await one.db.updateTable('runs').set({ max_fee: '100' }).execute()
  const of = { collection_id: 'c', run: 'run' }
  const { reached, open, pass } = gate()
  const limiting = one.transaction(async (db) => {
    await lockRunOfCollection(db, of)
    await setLimit(db, { account_id: 'a', run: 'run' }, { max_cost: '1', nft_gas: 1, nft_bytes: 1 })
    await pass()
  })
  await reached
  const sign = (maxFeePerGas: bigint) =>
    ACCOUNT.signTransaction({ chainId: 137, nonce: 0, to: CONTRACT, gas: 21_000n, maxFeePerGas, type: 'eip1559' })
  const [first, raised] = [await sign(1n), await sign(100n)]
  let mayBeSigned: boolean | undefined
  const replacing = other.transaction(async (db) => {
    mayBeSigned = await mayReplace(db, FEES, { run: 'run', run_collection_id: 'c' }, [first], raised)
  })
  const blocked = () => sql<{ n: string }>`select count(*) as n from pg_locks where not granted`.execute(one.db)
  await until(blocked, ({ rows }) => mayBeSigned !== undefined || Number(rows[0]?.n) > 0)
  open()
  await Promise.all([limiting, replacing])
  expect(mayBeSigned).toBe(false)
})
