import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import { encodeDeployFactory, factoryAddress, operatorsOfDeployment } from '../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { isOperator, readFactoryVersion } from '../../../src/server/chain/evm/registry.ts'
import { createRemoteNetwork, type RemoteNetwork } from '../../../src/server/chain/evm/remote/remote-network.ts'
import { planSetup } from '../../../src/server/setup/plan.ts'
import { runSetup } from '../../../src/server/setup/run.ts'
import { chainStatus } from '../../../src/server/setup/status.ts'
import { deployedContracts } from '../../../src/server/setup/verify/contracts.ts'
import { findChain, listFactories } from '../../../src/server/store/chains.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
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
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { show } from '../../helpers/explorer.ts'
import { returnToMigration } from '../../helpers/former-schema.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { insertCollection } from '../../helpers/rows.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { openTestStore } from '../../helpers/test-database.ts'
import { ended, historyOf } from '../../helpers/updates.ts'

const gdn = vi.hoisted(() => ({ version: 2 }))

// The gdn that deployed the first version: everything that it stores is the same, except for the code that it deploys.
vi.mock(import('../../../src/server/chain/evm/contract-version.ts'), async (original) => ({
  ...(await original()),
  get CONTRACT_VERSION() {
    return gdn.version as 2
  },
}))
vi.mock(import('../../../src/server/chain/evm/contracts/generated/artifacts.ts'), async (original) => {
  const { gdnFactory, ...others } = await original()
  const { firstFactoryCode } = await import('../../helpers/first-factory.ts')
  const { abi } = gdnFactory
  const either = {
    abi,
    get bytecode() {
      return gdn.version === 1 ? firstFactoryCode : gdnFactory.bytecode
    },
  }
  return { ...others, gdnFactory: either as typeof gdnFactory }
})

const FINALITY = 4
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

beforeEach(() => {
  gdn.version = 1
})

describe('an embedded chain of the first version', () => {
  let dir: Awaited<ReturnType<typeof freshDataDir>>
  let backend: TestBackend
  beforeEach(async () => {
    dir = await freshDataDir()
    backend = await startTestBackend(dir.path)
  })
  afterEach(async () => {
    await backend.close()
    await dir.remove()
  })
  const upgrade = async () => {
    await backend.close()
    gdn.version = 2
    backend = await startTestBackend(dir.path)
  }
  const collections = () =>
    withStore(dir.path, ({ db }) =>
      db.selectFrom('collections').select(['status', 'factory_address', 'contract_version']).orderBy('id').execute(),
    )

  it('keeps its collections, and makes new ones with a factory beside it', async () => {
    const old = await createTestCollection(backend, { enable_transfer: true })
    const first = await settled(backend, await mint(backend, old, plainMetadata(3)))
    const factory = await withStore(dir.path, ({ db }) => findChain(db, 'polygon'))
    expect(factory).toMatchObject({ factory_version: 1 })
    await upgrade()

    const minted = await settled(backend, await mint(backend, old, plainMetadata(2)))
    expect([...first, ...minted].map(({ status, token_id }) => [status, token_id])).toEqual(
      ['1', '2', '3', '4', '5'].map((id) => ['deployed', id]),
    )
    const { response } = await call(backend, 'transfernft', {
      ...{
        nft_gdn_id: minted[0]?.nft_gdn_id ?? '',
        token_id: '4',
        blockchain: 'polygon',
        contract_address: old.address,
      },
      ...{ sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[0] },
    })
    await until(
      () => call(backend, 'gettransactions', { transaction_gdn_ids: [response.transaction_gdn_id] }),
      ({ transactions }) => transactions[0]?.status === 'deployed',
    )

    const young = await createTestCollection(backend)
    expect(await settled(backend, await mint(backend, young, plainMetadata(2)))).toMatchObject([
      { status: 'deployed', token_id: '1' },
      { status: 'deployed', token_id: '2' },
    ])
    const chain = await withStore(dir.path, ({ db }) => findChain(db, 'polygon'))
    expect(chain?.factory_version).toBe(2)
    expect(chain?.factory_address).not.toBe(factory?.factory_address)
    expect(await collections()).toEqual([
      { status: 'deployed', factory_address: factory?.factory_address, contract_version: 1 },
      { status: 'deployed', factory_address: chain?.factory_address, contract_version: 2 },
    ])

    await backend.close()
    backend = await startTestBackend(dir.path)
    const again = await createTestCollection(backend)
    await settled(backend, await mint(backend, again, plainMetadata(1)))
    expect(await withStore(dir.path, ({ db }) => findChain(db, 'polygon'))).toEqual(chain)
    const deployments = await withStore(dir.path, ({ db }) =>
      db.selectFrom('transactions').select('nonce').where('kind', '=', 'factory').orderBy('nonce').execute(),
    )
    expect(deployments).toEqual([{ nonce: 0 }, { nonce: 1 }])
  })

  it('migrates a database that was filled before, and finishes what was pending', async () => {
    const holder = newWallet()
    const old = await createTestCollection(backend, { enable_transfer: true })
    const minted = await settled(backend, await mint(backend, old, plainMetadata(4), { receiver: holder.address }))
    const [first, second, third] = minted.map(({ nft_gdn_id }) => nft_gdn_id)
    const transferNft = async (id = '', token_id: string) => {
      const wallets = { sender_wallet_address: holder.address, receiver_wallet_address: WALLETS[0] }
      const body = { nft_gdn_id: id, token_id, blockchain: 'polygon', contract_address: old.address, ...wallets }
      return (await call(backend, 'transfernft', body)).response.transaction_gdn_id
    }
    const done = await transferNft(first, '1')
    await ended(backend, done)
    const args: [Hex, Hex, bigint] = [holder.address, WALLETS[2], 2n]
    expect(await rpcOf(backend).send(holder, old.address, { functionName: 'transferFrom', args })).toBe('success')
    await until(
      () => historyOf(backend, second ?? ''),
      (events) => events.length === 2,
    )

    await backend.close()
    const only = new Set() as never
    backend = await startTestBackend(dir.path, { only })
    const waiting = await mint(backend, old, plainMetadata(2, 'Waiting'))
    const pending = await transferNft(third, '3')
    const ids = [...minted.map(({ nft_gdn_id }) => nft_gdn_id), ...waiting]
    const collection = `collections/${old.id}`
    const pages = ['overview', collection, `${collection}/nfts`, ...ids.map((id) => `nfts/${id}`), 'search?q=waiting']
    const answers = async () => ({
      nfts: await showNfts(backend, ids),
      collection: await showCollection(backend, old.id),
      transactions: await call(backend, 'gettransactions', { transaction_gdn_ids: [done, pending] }),
      histories: await Promise.all(ids.map((id) => historyOf(backend, id))),
      pages: await Promise.all(pages.map((page) => show(backend, page))),
    })
    const before = await answers()
    await backend.close()
    await returnToMigration(dir.path, '0003-costs')
    gdn.version = 2
    backend = await startTestBackend(dir.path, { only })
    expect(await answers()).toEqual(before)
    expect(before.nfts.slice(3)).toMatchObject([
      { status: 'deployed' },
      { status: 'initiated' },
      { status: 'initiated' },
    ])
    await backend.close()

    backend = await startTestBackend(dir.path)
    expect((await settled(backend, waiting)).map(({ token_id }) => token_id)).toEqual(['5', '6'])
    expect(await ended(backend, pending)).toMatchObject({ status: 'deployed' })
    expect((await historyOf(backend, third ?? '')).map(({ kind, to }) => [kind, to])).toEqual([
      ['mint', holder.address],
      ['transfer', WALLETS[0]],
    ])
    const young = await createTestCollection(backend)
    expect(await settled(backend, await mint(backend, young, plainMetadata(1)))).toMatchObject([{ token_id: '1' }])
  })

  it('deploys a collection that was accepted before the upgrade', async () => {
    await createTestCollection(backend)
    await settledCollections()
    await backend.close()
    // Accepted, and killed before its deployment was signed.
    const held = await startTestBackend(dir.path, { only: new Set() as never })
    const pending = await createTestCollection(held)
    await held.close()
    gdn.version = 2
    backend = await startTestBackend(dir.path)
    expect(await settled(backend, await mint(backend, pending, plainMetadata(1)))).toMatchObject([
      { status: 'deployed', token_id: '1' },
    ])
    expect(await collections()).toMatchObject([{ contract_version: 1 }, { status: 'deployed', contract_version: 1 }])
  })

  it('fails a collection that was accepted before its factory, with its NFTs, and makes new ones', async () => {
    await backend.close()
    backend = await startTestBackend(dir.path, { only: new Set() as never })
    const pending = await createTestCollection(backend)
    const ids = await mint(backend, pending, plainMetadata(2))
    await upgrade()
    const young = await createTestCollection(backend, { dynamic: true })
    expect(await settled(backend, await mint(backend, young, plainMetadata(1)))).toMatchObject([{ token_id: '1' }])
    const failed = { status: 'failed', error: expect.stringContaining('the collection could not be deployed') }
    expect(await settled(backend, ids)).toMatchObject([failed, failed])
    expect(await showCollection(backend, pending.id)).toMatchObject(failed)
  })

  const settledCollections = () =>
    vi.waitFor(async () => {
      for (const one of await collections()) expect(one.status).toBe('deployed')
    }, 20_000)
})

describe('a public network of the first version', () => {
  const admin = createSigner(generatePrivateKey())
  const signers = Array.from({ length: 3 }, () => createSigner(generatePrivateKey()))
  const [first, second, third] = signers.map(({ address }) => address) as [Hex, Hex, Hex]
  let dir: Awaited<ReturnType<typeof freshDataDir>>
  let real: PublicNetwork
  let store: Store
  let network: RemoteNetwork
  let stopMining: () => Promise<void>

  beforeEach(async () => {
    dir = await freshDataDir()
    store = await openTestStore(dir.path)
    real = await startPublicNetwork()
    await real.call('anvil_setBalance', [admin.address, '0xde0b6b3a7640000'])
    await real.mine(FINALITY)
    network = connect()
    stopMining = real.mineEvery(15)
  })
  afterEach(async () => {
    await stopMining()
    await network.close()
    await real.close()
    await store.close()
    await dir.remove()
  })

  const connect = () =>
    createRemoteNetwork({
      ...{ blockchain: 'polygon', urls: [real.url], confirmations: 2, finality: FINALITY, pollMs: 10 },
    })
  const plan = (operators: readonly Hex[], known?: Hex) =>
    planSetup({ store, network, admin: admin.address, operators, known })
  const setUp = async (operators: readonly Hex[], known?: Hex, signal = new AbortController().signal) => {
    const planned = await plan(operators, known)
    const waiting = { now: Date.now, log: SILENT, signal, say() {} }
    // An interruption closes it.
    const own = connect()
    try {
      return await runSetup({ store, network: own, admin, operators, plan: planned, ...waiting })
    } finally {
      await own.close()
    }
  }
  const chain = () => findChain(store.db, 'polygon')
  const appointed = async (factories: readonly Hex[], operators: readonly Hex[]) =>
    await Promise.all(factories.flatMap((factory) => operators.map((one) => isOperator(network, factory, one))))

  /** A collection that a factory has made, as far as the database knows. */
  async function recordCollection(factory_address: Hex, contract_version: number): Promise<void> {
    await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
    const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
    await insertRequest(store.db, { ...request, accepted_at: 1 })
    await insertCollection(store.db, {
      ...{ id: 'c', account_id: 'a', request_id: 'r', blockchain: 'polygon', name: 'C', symbol: 'C' },
      ...{ enable_api: 1, enable_transfer: 0, is_locked: 0, description: null, image: null },
      ...{ wallet_address: first, contract_address: first, factory_address, contract_version },
      ...{ status: 'deployed', next_token_id: '1', next_attempt_at: 0 },
    })
  }

  it('gets a new factory beside the old one, which keeps the operators of both', async () => {
    const old = await setUp([first])
    expect(await chain()).toMatchObject({ factory_address: old, factory_version: 1 })
    expect(await readFactoryVersion(network, old)).toBe(1)
    await recordCollection(old, 1)

    gdn.version = 2
    // The old one is in use until then.
    expect(await chain()).toMatchObject({ factory_address: old, factory_version: 1 })
    const planned = await plan([first, second])
    expect(planned).toMatchObject({ factory: null, version: 2, replaced: old, former: [old], toAppoint: [second] })
    expect(planned.isDone).toBe(false)
    const young = await setUp([first, second])
    expect(young).not.toBe(old)
    expect(await chain()).toMatchObject({ factory_address: young, factory_version: 2 })
    expect(await readFactoryVersion(network, young)).toBe(2)
    expect(new Set(await listFactories(store.db, 'polygon'))).toEqual(new Set([old, young]))
    expect(await appointed([old, young], [first, second])).toEqual([true, true, true, true])
    expect(await plan([first, second])).toMatchObject({ isDone: true, factory: young, gas: 0n, replaced: null })

    // A later operator gets its rights in both.
    expect(await plan([first, second, third])).toMatchObject({ toAppoint: [third], gas: 160_000n })
    await setUp([first, second, third])
    expect(await appointed([old, young], [third])).toEqual([true, true])
  })

  it('is not replaced if it is named, and gets further operators', async () => {
    const old = await setUp([first])
    gdn.version = 2
    expect(await plan([first, second], old)).toMatchObject({ factory: old, version: 1, toAppoint: [second] })
    expect(await setUp([first, second], old)).toBe(old)
    expect(await chain()).toMatchObject({ factory_address: old, factory_version: 1 })
    expect(await plan([first, second], old)).toMatchObject({ isDone: true })
  })

  it('whose deployment was interrupted is set up with the new factory', async () => {
    const interrupt = new AbortController()
    await stopMining()
    const one = setUp([first], undefined, interrupt.signal)
    one.catch(() => {})
    await vi.waitFor(async () => expect(await real.pool()).toHaveLength(1), 10_000)
    interrupt.abort(new Error('interrupted'))
    await expect(one).rejects.toThrow('interrupted')
    stopMining = real.mineEvery(15)

    gdn.version = 2
    expect(await plan([first])).toMatchObject({ factory: null, replaced: null, toAppoint: [] })
    const young = await setUp([first])
    expect(young).toBe(factoryAddress(admin.address, 1))
    expect(await chain()).toMatchObject({ factory_address: young, factory_version: 2 })
    expect(await plan([first])).toMatchObject({ isDone: true })
  })

  it('is named by the status and refused by the verification', async () => {
    await setUp([first])
    gdn.version = 2
    const opened = { store, network, operators: signers.slice(0, 1), settings: {} as never, admin: null }
    expect(await chainStatus(opened)).toMatchObject([{ factory_version: 1, appointed: true }])
    await expect(deployedContracts({ store, network })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('an earlier version of gdn deployed the factory'),
    })
    await setUp([first])
    expect(await chainStatus(opened)).toMatchObject([{ factory_version: 2, appointed: true }])
    const [factory, implementation] = await deployedContracts({ store, network })
    expect(factory).toMatchObject({ address: (await chain())?.factory_address, name: 'GdnFactory' })
    expect(implementation?.creationTransaction).toBe(factory?.creationTransaction)
  })
})

it('the deployment of the first version is not taken for one of this version', () => {
  const operator = WALLETS[1] as Hex
  const first = encodeDeployFactory([operator])
  expect(operatorsOfDeployment(first)).toEqual([operator])
  gdn.version = 2
  expect(operatorsOfDeployment(first)).toBeNull()
  expect(operatorsOfDeployment(encodeDeployFactory([operator]))).toEqual([operator])
})
