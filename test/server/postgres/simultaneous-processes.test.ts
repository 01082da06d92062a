import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import { EMBEDDED_FEES, type Signer } from '../../../src/server/chain/evm/evm-signer.ts'
import { createChainStep } from '../../../src/server/pipeline/chain-step.ts'
import type { ChainDriver } from '../../../src/server/pipeline/driver.ts'
import { writeEvents } from '../../../src/server/pipeline/evm/follow-owners.ts'
import { lockSigner } from '../../../src/server/pipeline/evm/signer-pool.ts'
import { createMintStep } from '../../../src/server/pipeline/mint-step.ts'
import { lockCollection } from '../../../src/server/store/collections.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { findCursor, lockTokenOwners, moveCursor } from '../../../src/server/store/owner-events.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { raiseNonce } from '../../../src/server/store/transactions.ts'
import { plainMetadata, temporaryDataDir } from '../../helpers/backend.ts'
import { evmDriver } from '../../helpers/evm-driver.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// Two stores stand for two processes.
let folder: string
let here: Store
let there: Store
let signers: [Signer, Signer]

beforeEach(async () => {
  folder = await temporaryDataDir()
  const url = new Secret((await databaseUrlOf(folder)) ?? '')
  here = await openPostgres({ url })
  there = await openPostgres({ url })
  signers = [createSigner(generatePrivateKey()), createSigner(generatePrivateKey())]
  for (const { address } of signers) await raiseNonce(here.db, 'polygon', address, 0)
  await insertAccountAndRequest(here.db, { accepted_at: 1 })
  for (const id of ['c', 'd']) {
    await insertCollection(here.db, { id, contract_address: `0x${id.repeat(40)}`, enable_transfer: 0 })
    const nft = {
      request_id: 'r',
      receiver: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      metadata: JSON.stringify(plainMetadata(1)[0]),
    }
    await insertNfts(here.db, [
      { ...nft, id: `nft ${id}`, collection_id: id, status: 'initiated', step: 'mint', next_attempt_at: 0 },
    ])
  }
})
afterEach(() => Promise.all([here.close(), there.close()]))

const driverOf = (store: Store): ChainDriver =>
  evmDriver(store, async () => ({
    ...{ chainId: 137, signers: { admin: null, operators: signers }, fees: EMBEDDED_FEES },
  }))
const stepOf = (store: Store, signed: string[], driver = driverOf(store)) =>
  createMintStep({
    ...{ store, driver },
    now: Date.now,
    onSigned: (transactions) => signed.push(...transactions.map(({ signer }) => signer)),
  })

it('skips a collection that another process is signing for, signs for others, and retries it later', async () => {
  const signed: string[] = []
  const step = stepOf(there, signed)
  await here.transaction(async (db) => {
    await lockCollection(db, 'c')
    // The turn doesn't wait: it ends while the other process still has the lock.
    expect(await step.turn()).toBeGreaterThan(0)
    expect(signed).toHaveLength(1)
  })
  await step.turn()
  expect(signed).toHaveLength(2)
})

it('two simultaneous processes sign for different collections, and for none twice', async () => {
  const signed: string[] = []
  const steps = [stepOf(here, signed), stepOf(there, signed)]
  await Promise.all(steps.map((step) => step.turn()))
  for (const step of steps) await step.turn()
  expect(signed).toHaveLength(2)
  const rows = await here.db.selectFrom('nfts').select(['id', 'step', 'transaction_id']).orderBy('id').execute()
  expect(rows.map(({ step }) => step)).toEqual(['chain', 'chain'])
  expect(new Set(rows.map(({ transaction_id }) => transaction_id)).size).toBe(2)
})

it('skips signers that other processes have locked; waits for the first if all are locked', async () => {
  const [first, second] = signers
  await here.transaction(async (db) => {
    expect(await lockSigner(db, 'polygon', [first, second])).toBe(first)
    await there.transaction(async (other) => {
      expect(await lockSigner(other, 'polygon', [first, second])).toBe(second)
      expect(await lockSigner(other, 'polygon', [first])).toBe(first)
    })
  })
})

it('signs for several collections at once, with one preparer', async () => {
  const signed: string[] = []
  const driver = driverOf(here)
  let preparers = 0
  let waiting = 0
  let goOn = () => {}
  const all = new Promise<null>((resolve) => {
    goOn = () => resolve(null)
  })
  const openPreparer = async () => {
    preparers += 1
    // The first collection waits for the second one.
    const delay = () => {
      waiting += 1
      if (waiting === 2) goOn()
      return all
    }
    return { ...(await driver.openPreparer()), delay }
  }
  await stepOf(here, signed, { ...driver, openPreparer }).turn()
  expect(signed).toHaveLength(2)
  expect(preparers).toBe(1)
})

it('leaves transactions that are due to other processes', async () => {
  const [{ address: signer }] = signers
  for (let nonce = 0; nonce < 20; nonce++) {
    await insertTransaction(here.db, {
      ...{ id: `t${nonce}`, blockchain: 'polygon', signer, nonce, kind: 'mint', collection_id: `c${nonce}` },
      ...{ token_count: 1, raw: '0x', hash: `0x${nonce}`, state: 'signed', created_at: 0, next_attempt_at: 0 },
    })
  }
  /** Looks up transactions once; `whileObserved` runs while they are claimed. Resolves with their number. */
  const look = async (store: Store, whileObserved = async () => {}): Promise<number> => {
    let count = 0
    const driver: ChainDriver = {
      ...driverOf(store),
      async observe(claimed) {
        count = claimed.length
        await whileObserved()
        return claimed.map(() => ({ state: 'signed', waitMs: 60_000 }))
      },
    }
    await createChainStep({ store, driver, now: Date.now, log: SILENT_LOG, onSettled: () => {} })()
    return count
  }
  let others = 0
  const ours = await look(here, async () => {
    others = await look(there)
  })
  expect(others).toBeGreaterThan(0)
  expect(ours + others).toBe(20)
})

it('a follower that found no change of owner does not wait for workers that write minted tokens', async () => {
  const reached = { blockchain: 'polygon', block_number: 7, block_hash: '0x7' } as const
  await here.transaction(async (db) => {
    await lockTokenOwners(db, 'polygon', 'shared')
    await writeEvents(there, { events: [], mints: [], cursor: null, reached, move: moveCursor })
  })
  expect(await findCursor(here.db, 'polygon')).toEqual(reached)
})
