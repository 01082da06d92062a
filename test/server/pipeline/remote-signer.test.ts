/** @module-tag slow */
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requestAction, showTransaction } from '../../../src/server/admin/transactions.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { examineChain } from '../../../src/server/checkup/chains.ts'
import { loadServerSettings } from '../../../src/server/settings/settings.ts'
import { chainStatus } from '../../../src/server/setup/status.ts'
import { withChain } from '../../../src/server/setup/with-chain.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  usedNonces,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { type SignerService, startSignerService } from '../../helpers/signer-service.ts'
import { chainPlaceOf } from '../../helpers/test-database.ts'

/** The first two keys of anvil. */
const [FIRST, SECOND] = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
].map((key) => privateKeyToAccount(key as Hex)) as [
  ReturnType<typeof privateKeyToAccount>,
  ReturnType<typeof privateKeyToAccount>,
]
const [OWNER, , BOB] = WALLETS

let real: PublicNetwork
let service: SignerService
let place: NetworkPlace
let backend: TestBackend
let stopMining = async () => {}

const startMining = () => {
  stopMining = real.mineEvery(30)
}

async function start(addresses: readonly Hex[]): Promise<void> {
  place = await setUpNetwork(real, {
    remote: addresses.map((address) => ({ remote_signer: service.url, address })),
  })
  startMining()
  backend = await place.start()
}

beforeEach(async () => {
  real = await startPublicNetwork([], { accounts: 2 })
  service = await startSignerService(real.url)
})
afterEach(async () => {
  await stopMining()
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
  await backend?.close()
  await place?.remove()
  await service?.close()
  await real?.close()
})

const isDeployed = async ({ id }: TestCollection) => (await showCollection(backend, id)).status === 'deployed'

async function deployedCollection(request: Record<string, unknown> = {}): Promise<TestCollection> {
  const collection = await createTestCollection(backend, request)
  await until(() => isDeployed(collection), Boolean)
  return collection
}

/** Every nonce of a signer was used, once, and nothing was sent for one that isn't stored. */
async function expectNoGaps(signers: readonly Hex[]): Promise<void> {
  const used = await usedNonces(place.dataDir)
  for (const signer of signers) {
    const nonces = used[`polygon ${signer}`] ?? []
    expect(nonces).toEqual(nonces.map((_, nonce) => nonce))
    expect(Number(await real.call<Hex>('eth_getTransactionCount', [signer, 'latest']))).toBe(nonces.length)
  }
}

/** All but the setup's. */
const transactions = () =>
  withStore(place.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('kind', '<>', 'factory').orderBy('nonce').execute(),
  )

describe('remote signers', () => {
  it('deploy, mint and transfer in several collections at once, without a gap in their nonces', async () => {
    await start([FIRST.address, SECOND.address])
    const holder = privateKeyToAccount(`0x${'77'.repeat(32)}`).address
    const collections = await Promise.all(
      Array.from({ length: 4 }, (_, i) => createTestCollection(backend, { name: `Drop ${i}`, enable_transfer: true })),
    )
    const ids = (
      await Promise.all(
        collections.flatMap((collection) =>
          [1, 2, 3].map((count) => mint(backend, collection, plainMetadata(count), { receiver: holder })),
        ),
      )
    ).flat()
    const nfts = await settled(backend, ids)
    expect(nfts.map(({ status }) => status)).toEqual(nfts.map(() => 'deployed'))
    const transfers = await Promise.all(
      nfts.slice(0, 5).map((nft) =>
        call(backend, 'transfernft', {
          contract_address: nft.contract_address,
          token_id: nft.token_id,
          blockchain: 'polygon',
          nft_gdn_id: nft.nft_gdn_id,
          sender_wallet_address: holder,
          receiver_wallet_address: BOB,
        }),
      ),
    )
    expect(transfers).toHaveLength(5)
    await until(
      transactions,
      (rows) => rows.filter(({ kind, state }) => kind === 'transfer' && state === 'final').length === 5,
    )
    await expectNoGaps([FIRST.address, SECOND.address])
  })

  it('block no request while one takes its time, and nothing of theirs is stored before it is signed', async () => {
    await start([FIRST.address])
    const collection = await deployedCollection()
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    service.onSign = async () => {
      await held
      return undefined
    }
    const before = service.asked.length
    const ids = await mint(backend, collection, plainMetadata(2))
    await until(
      () => service.asked.length,
      (count) => count > before,
    )
    // Requests that write are accepted meanwhile.
    const more = await mint(backend, collection, plainMetadata(2, 'More'))
    expect((await transactions()).map(({ kind }) => kind)).toEqual(['collection'])
    expect(backend.log.filter((line) => line.includes('did not respond'))).toEqual([])
    letGo()
    const nfts = await settled(backend, [...ids, ...more])
    expect(nfts.map(({ token_id }) => token_id).sort()).toEqual(['1', '2', '3', '4'])
    await expectNoGaps([FIRST.address])
  })

  it('remote signers that fail delay their work, which is done when they sign again', async () => {
    await start([FIRST.address])
    const collection = await deployedCollection()
    service.onSign = () => ({ status: 503 })
    const ids = await mint(backend, collection, plainMetadata(2))
    const before = service.asked.length
    await until(
      () => service.asked.length,
      (count) => count >= before + 2,
    )
    expect((await transactions()).map(({ kind }) => kind)).toEqual(['collection'])
    expect(backend.log.join('\n')).toMatch(/the signer at 127\.0\.0\.1:\d+ returned HTTP 503/)
    await until(
      async () => await (await backend.get('/readyz')).text(),
      (text) => text.includes('returned HTTP 503'),
    )
    service.onSign = () => undefined
    expect((await settled(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
    await expectNoGaps([FIRST.address])
  })

  it('remote signers of which one fails leave their work to the others', async () => {
    await start([FIRST.address, SECOND.address])
    service.onSign = (request) => ((request as { from?: string }).from === FIRST.address ? { status: 503 } : undefined)
    const collections = await Promise.all([deployedCollection(), deployedCollection({ name: 'Other' })])
    const ids = await Promise.all(collections.map((collection) => mint(backend, collection, plainMetadata(2))))
    await settled(backend, ids.flat())
    expect(new Set((await transactions()).map(({ signer }) => signer))).toEqual(new Set([SECOND.address]))
  })

  it('stores and sends nothing if a remote signer signs something else, and logs the reason', async () => {
    await start([FIRST.address])
    const collection = await deployedCollection()
    const evil = await FIRST.signTransaction({
      ...{ type: 'eip1559', chainId: 137, nonce: 1, to: OWNER, value: 10n ** 18n, gas: 21_000n },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
    })
    service.onSign = () => ({ json: { jsonrpc: '2.0', id: 1, result: evil } })
    const ids = await mint(backend, collection, plainMetadata(1))
    await until(
      () => backend.log.join('\n'),
      (log) => log.includes('returned a transaction that was not requested: its receiver is'),
    )
    expect((await transactions()).map(({ kind }) => kind)).toEqual(['collection'])
    expect(await real.call('eth_getBalance', [OWNER, 'latest'])).toBe('0x0')
    service.onSign = () => undefined
    await settled(backend, ids)
    await expectNoGaps([FIRST.address])
  })

  it('are asked for their keys by gdn doctor and gdn chain status', async () => {
    await start([FIRST.address])
    const look = async () => {
      const settings = (await loadServerSettings(place.dataDir, undefined)).chains.get('polygon')
      if (settings === undefined) throw new Error('polygon is not configured')
      const found = await examineChain(settings, null, undefined)
      const at = await chainPlaceOf(place.dataDir)
      const [status] = await withChain(at, 'polygon', (chain) => chainStatus(chain, 'gdn chain setup'))
      return { doctor: found.find(({ check }) => check === 'polygon remote signer'), problem: status?.problem }
    }
    const { host } = new URL(service.url)
    expect(await look()).toEqual({
      doctor: { check: 'polygon remote signer', status: 'ok', message: `${host} has the key of ${FIRST.address}` },
      problem: null,
    })
    await service.close()
    const { doctor, problem } = await look()
    expect(doctor).toMatchObject({ status: 'fail', error: { code: 'unreachable' } })
    expect(problem).toMatch(`the signer at ${host} does not respond`)
  })

  it('sign again what gdn tx bump and gdn tx cancel ask for, and are asked again if they fail', async () => {
    await start([FIRST.address])
    const collection = await deployedCollection()
    await stopMining()
    await mint(backend, collection, plainMetadata(1))
    const [first = ''] = await until(
      () => real.pool(),
      (pool) => pool.length === 1,
    )
    const id = (await transactions()).find(({ kind }) => kind === 'mint')?.id ?? ''
    const action = (what: 'bump' | 'cancel') =>
      withStore(place.dataDir, (store) => requestAction(store, id, what, Date.now()))
    service.onSign = () => ({ status: 503 })
    await action('bump')
    await until(
      () => backend.log.join('\n'),
      (log) => log.includes("can't be signed again: the signer at"),
    )
    service.onSign = () => undefined
    const [second = ''] = await until(
      () => real.pool(),
      (pool) => pool[0] !== first,
    )
    await action('cancel')
    await until(
      () => real.pool(),
      (pool) => pool[0] !== second && pool[0] !== first,
    )
    startMining()
    await until(
      () => withStore(place.dataDir, (store) => showTransaction(store, id)),
      ({ state }) => state === 'cancelled',
    )
    await expectNoGaps([FIRST.address])
  })

  it.each([
    ['a mint', ({ address, blockchain }: TestCollection) => ['createnft', mintOf(address, blockchain)]],
    [
      'an update',
      ({ address }: TestCollection, nft: string) => [
        'updatednft',
        { contract_address: address, nft_gdn_id: nft, metadata: plainMetadata(1, 'Other') },
      ],
    ],
    [
      'a burn',
      ({ address }: TestCollection, nft: string) => [
        'burnnft',
        { contract_address: address, nft_gdn_id: nft, holder_wallet_address: BOB },
      ],
    ],
  ] as const)('sign %s for a run that gets a limit meanwhile within the limit, which counts it', async (_, change) => {
    await start([FIRST.address])
    const collection = await deployedCollection({ dynamic: true, enable_burn: true })
    const ids = await mint(backend, collection, plainMetadata(1), { receiver: BOB })
    await settled(backend, ids)
    const requestCount = service.asked.length
    let release = () => {}
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined)
    })
    service.onSign = () => held
    const ask = ([endpoint, body]: readonly [string, object], headers = {}) =>
      backend.post(`/api/v1/${endpoint}`, body, { 'gdn-run': 'run', ...headers })
    expect((await ask(change(collection, ids[0] ?? '') as [string, object])).status).toBe(200)
    await until(
      async () => service.asked.length,
      (count) => count > requestCount,
    )
    const limit = { 'gdn-run-max-cost': String(10n ** 18n) }
    expect((await ask(['createnft', mintOf(collection.address, 'polygon')], limit)).status).toBe(200)
    release()
    const costs = await until(
      async () => (await call(backend, 'getruncosts', { run: 'run' })).costs,
      ({ final_fee_paid, counted }) => final_fee_paid !== '0' && final_fee_paid === counted,
    )
    const ofRun = (await transactions()).filter(({ run }) => run === 'run')
    expect(String(ofRun.reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n))).toBe(costs.counted)
    expect(costs.fee_paid).toBe(costs.counted)
    const added = (await transactions()).filter(({ kind }) => kind !== 'collection').length - 1
    expect(ofRun).toHaveLength(added)
  })
})

const mintOf = (contract_address: string, blockchain: string) => ({
  ...{ contract_address, blockchain, receiver_wallet_address: BOB, metadata: plainMetadata(1) },
})
