import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Blockchain, EvmBlockchain } from '../../../src/api/blockchains.ts'
import { type EmbeddedSigners, openEmbeddedSigners } from '../../../src/server/chain/evm/embedded/embedded-signers.ts'
import {
  EMBEDDED_FEES,
  type GetSigningTerms,
  type Signer,
  type Signers,
} from '../../../src/server/chain/evm/evm-signer.ts'
import { factoryAddress } from '../../../src/server/chain/evm/factory.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { startChainPipeline } from '../../../src/server/pipeline/chain-pipeline.ts'
import { createDeployStep } from '../../../src/server/pipeline/deploy-step.ts'
import { createMintStep } from '../../../src/server/pipeline/mint-step.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryDataDir, until, WALLETS } from '../../helpers/backend.ts'
import { evmDriver } from '../../helpers/evm-driver.ts'
import {
  insertAccountAndRequest,
  insertCollection,
  insertNfts,
  insertTransaction,
  insertTransfer,
} from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const [ALICE, BOB] = WALLETS
const NOW = 1_800_000_000_000
const now = () => NOW

let dir: string
let store: Store
let signers: EmbeddedSigners
const signingBy =
  (by: Signers): GetSigningTerms =>
  async () => ({ chainId: 137, signers: by, fees: EMBEDDED_FEES })

const driverOf = (signing: GetSigningTerms, blockchain: EvmBlockchain = 'polygon') =>
  evmDriver(store, signing, { blockchain, now })

beforeEach(async () => {
  dir = await temporaryDataDir()
  store = await openTestStore(dir)
  signers = await (await openEmbeddedSigners(dir))()
  await insertAccountAndRequest(store.db, { accepted_at: NOW })
})
afterEach(() => store.close())

const addCollection = (
  id: string,
  changes: { status: 'initiated' | 'failed' | 'deployed'; name?: string; error?: string; blockchain?: Blockchain },
) =>
  insertCollection(store.db, {
    id,
    contract_address: `0x${Buffer.from(id).toString('hex').padStart(40, '0')}`,
    factory_address: factoryAddress(signers.admin.address),
    next_attempt_at: NOW,
    ...changes,
  })

describe('the mint step', () => {
  it('fails NFTs that were accepted at the moment their collection failed, with its reason', async () => {
    await addCollection('c', { status: 'failed', error: 'the collection could not be deployed' })
    const nft = { request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW }
    await insertNfts(store.db, [
      { ...nft, id: 'ready', status: 'initiated', step: 'mint' },
      { ...nft, id: 'fetching', status: 'initiated', step: 'files' },
    ])
    const step = createMintStep({ store, driver: driverOf(signingBy(signers)), now, onSigned: () => {} })
    expect(await step.turn()).toBeNull()
    const nfts = await store.db.selectFrom('nfts').select(['id', 'status', 'step', 'error']).orderBy('id').execute()
    const failed = { status: 'failed', step: 'done', error: 'the collection could not be deployed' }
    expect(nfts).toEqual([
      { id: 'fetching', ...failed },
      { id: 'ready', ...failed },
    ])
  })
})

it('several collections are signed for at once only as far as a signer can pay for all of them', async () => {
  const ids = ['c1', 'c2', 'c3']
  for (const id of ids) await addCollection(id, { status: 'deployed' })
  const metadata = JSON.stringify({ title: 'a', description: '', file_fields: [], extra_fields: [] })
  const nft = { request_id: 'r', receiver: ALICE, metadata, next_attempt_at: NOW }
  await insertNfts(
    store.db,
    ids.map((id) => ({ ...nft, id: `n${id}`, collection_id: id, status: 'initiated', step: 'mint' })),
  )
  const gas = mintGasLimit([{ receiver: ALICE as Hex, count: 1 }], false)
  const affordable = new Map(signers.operators.map(({ address }) => [address, 2n * gas]))
  const poor: GetSigningTerms = async (blockchain) => ({ ...(await signingBy(signers)(blockchain)), affordable })
  const step = createMintStep({ store, driver: driverOf(poor), now, onSigned: () => {} })
  expect(await step.turn()).toBe(100)
  expect(await signedKinds()).toEqual(['polygon mint', 'polygon mint'])
  await step.turn()
  expect(await signedKinds()).toHaveLength(3)
})

/** Fantom is unreachable; Polygon works. */
const withoutFantom: GetSigningTerms = async (blockchain) => {
  if (blockchain === 'fantom') throw new Error('no node of fantom responds')
  return { chainId: 137, signers, fees: EMBEDDED_FEES }
}
const signedKinds = async () =>
  (await store.db.selectFrom('transactions').select(['blockchain', 'kind']).orderBy('nonce').execute()).map(
    ({ blockchain, kind }) => `${blockchain} ${kind}`,
  )

describe('an unreachable network', () => {
  const NFT = {
    request_id: 'r',
    receiver: ALICE,
    owner: ALICE,
    metadata: JSON.stringify({ title: 'a', description: '', file_fields: [], extra_fields: [] }),
    next_attempt_at: NOW,
  }
  const STRANGE = ['f1', 'f2', 'f3', 'f4', 'f5']
  const OURS = ['c1', 'c2', 'c3']

  beforeEach(async () => {
    for (const id of STRANGE) await addCollection(id, { status: 'deployed', blockchain: 'fantom' })
    for (const id of OURS) await addCollection(id, { status: 'deployed' })
  })

  it('is called once per turn, and all of its collections wait unsigned', async () => {
    await insertNfts(
      store.db,
      STRANGE.map((id) => ({ ...NFT, id: `n${id}`, collection_id: id, status: 'initiated', step: 'mint' })),
    )
    let requestCount = 0
    const signing: GetSigningTerms = (blockchain) => {
      requestCount += 1
      return withoutFantom(blockchain)
    }
    const step = createMintStep({ store, driver: driverOf(signing, 'fantom'), now, onSigned: () => {} })
    for (const turns of [1, 2]) {
      await expect(step.turn()).rejects.toThrow('no node of fantom responds')
      expect(requestCount).toBe(turns)
    }
    expect(await signedKinds()).toEqual([])
  })

  it('does not delay mints and transfers of another network', async () => {
    const all = [...STRANGE, ...OURS]
    await insertNfts(
      store.db,
      all.map((id) => ({ ...NFT, id: `n${id}`, collection_id: id, status: 'initiated', step: 'mint' })),
    )
    await insertNfts(store.db, [
      { ...NFT, id: 'token', collection_id: 'c1', status: 'deployed', step: 'done', token_id: '1' },
    ])
    await insertTransfer(store.db, {
      ...{ id: 't', request_id: 'r', collection_id: 'c1', nft_id: 'token' },
      ...{ blockchain: 'polygon', sender: ALICE, receiver: BOB, status: 'initiated' },
    })
    const pipelines = (['fantom', 'polygon'] as const).map((blockchain) =>
      startChainPipeline({
        ...{ store, now, log: SILENT_LOG, serves: () => true },
        createDriver: () => driverOf(withoutFantom, blockchain),
      }),
    )
    const signed = await until(signedKinds, (kinds) => kinds.length === 4)
    await Promise.all(pipelines.map((pipeline) => pipeline.stop()))
    expect(signed.sort()).toEqual([...OURS.map(() => 'polygon mint'), 'polygon transfer'])
  })

  it('a collection whose signing fails does not delay others', async () => {
    await insertNfts(
      store.db,
      OURS.map((id) => ({
        ...{ ...NFT, id: `n${id}`, collection_id: id, status: 'initiated' as const, step: 'mint' as const },
        metadata: id === 'c2' ? 'damaged' : NFT.metadata,
      })),
    )
    const step = createMintStep({ store, driver: driverOf(signingBy(signers)), now, onSigned: () => {} })
    await expect(step.turn()).rejects.toThrow('JSON')
    expect(await signedKinds()).toEqual(['polygon mint', 'polygon mint'])
  })
})

describe('the collection step', () => {
  const addFactory = () =>
    insertTransaction(store.db, {
      id: 'factory',
      blockchain: 'polygon',
      signer: signers.admin.address,
      nonce: 0,
      kind: 'factory',
      collection_id: null,
      start_id: null,
      token_count: 0,
      directory: null,
      raw: '',
      hash: 'factory',
      state: 'final',
      block_number: 1,
      block_hash: '',
      gas_used: '0',
      created_at: NOW,
      next_attempt_at: NOW,
    })
  const collections = () =>
    store.db.selectFrom('collections').select(['id', 'transaction_id', 'lease_until']).orderBy('id').execute()

  it('signs for the others if one fails, and releases their leases', async () => {
    await addFactory()
    // A signer that fails only once, as a remote one may.
    let failed = false
    const [real] = signers.operators as [Signer]
    const operator: Signer = {
      address: real.address,
      sign: (transaction) => {
        if (failed) return real.sign(transaction)
        failed = true
        return Promise.reject(new Error('the signer is away'))
      },
    }
    for (const id of ['c1', 'c2', 'c3']) await addCollection(id, { status: 'initiated' })
    const driver = driverOf(signingBy({ ...signers, operators: [operator] }))
    const step = createDeployStep({ store, driver, now, onSigned: () => {} })
    await expect(step()).rejects.toThrow('the signer is away')
    const rows = await collections()
    expect(rows.filter((row) => row.transaction_id !== null)).toHaveLength(2)
    expect(rows.filter((row) => row.lease_until !== 0)).toEqual([])
    const { next_nonce } = await store.db.selectFrom('signer_nonces').select('next_nonce').executeTakeFirstOrThrow()
    expect(next_nonce).toBe(2)
  })

  it('signs nothing for a collection whose lease it has lost', async () => {
    await addFactory()
    await addCollection('c1', { status: 'initiated' })
    const failingStore: Store = {
      ...store,
      transaction: async (work) => {
        await store.db
          .updateTable('collections')
          .set((c) => ({ generation: c('generation', '+', 1) }))
          .execute()
        return store.transaction(work)
      },
    }
    const driver = { ...driverOf(signingBy(signers)), commit: failingStore.transaction }
    await createDeployStep({ store: failingStore, driver, now, onSigned: () => {} })()
    expect((await collections()).map((row) => row.transaction_id)).toEqual([null])
    expect(await store.db.selectFrom('transactions').select('id').where('kind', '=', 'collection').execute()).toEqual(
      [],
    )
  })
})
