/** @module-tag slow */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mintAddress } from '../../../../src/server/chain/solana/mint-address.ts'
import { createFeeMarket } from '../../../../src/server/chain/solana/remote/fee-market.ts'
import {
  createRemoteSolana,
  type RemoteSolana,
  type RemoteSolanaOptions,
} from '../../../../src/server/chain/solana/remote/remote-solana.ts'
import { GENESIS_HASHES } from '../../../../src/server/settings/solana-clusters.ts'
import { clusterStatus, withCluster } from '../../../../src/server/setup/cluster.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  type TestBackend,
  until,
  withStore,
} from '../../../helpers/backend.ts'
import { type ClusterPlace, clusterPlace, newKeypair } from '../../../helpers/cluster-backend.ts'
import { type RpcProxyOptions, startRpcProxy } from '../../../helpers/rpc-proxy.ts'
import { seededRandom } from '../../../helpers/seed.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../../helpers/solana.ts'
import { startCluster, type TestCluster } from '../../../helpers/solana-cluster.ts'
import { chainPlaceOf } from '../../../helpers/test-database.ts'

const SOL = 1_000_000_000n

let cluster: TestCluster
let place: ClusterPlace
const undo: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  cluster = await startCluster()
  undo.push(() => cluster.close())
  place = await clusterPlace(cluster)
  undo.push(() => place.remove())
  await cluster.fund(place.signer, 10n * SOL)
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function start(): Promise<TestBackend> {
  const backend = await place.start()
  undo.push(() => backend.close())
  return backend
}

/** Behaves like a provider: rejects batches and applies the options to single requests. */
async function proxied(options: RpcProxyOptions = {}) {
  const proxy = await startRpcProxy(cluster.url, { ...options, batches: false })
  undo.push(() => proxy.close())
  return proxy
}

const transactions = () =>
  withStore(place.dataDir, ({ db }) => db.selectFrom('transactions').selectAll().orderBy('id').execute())

/** Expects one mint for each NFT, at the address derived from its ID. */
async function expectEachOnce(backend: TestBackend, ids: readonly string[]) {
  const nfts = await until(
    () => showNfts(backend, ids),
    (all) => all.every(({ status }) => status !== 'initiated'),
  )
  expect(nfts.map(({ status, token_id, error }) => [status, token_id, error])).toEqual(
    ids.map((id) => ['deployed', mintAddress(place.signer, id), undefined]),
  )
  for (const id of ids) expect(await cluster.account(mintAddress(place.signer, id))).not.toBeNull()
  const final = (await transactions()).filter(({ state, kind }) => state === 'final' && kind === 'mint')
  expect(new Set(final.map(({ mint: at }) => at)).size).toBe(final.length)
  expect(final).toHaveLength(ids.length)
}

const receive = { receiver: solanaWallet('holder') }

describe('a cluster with an RPC URL', () => {
  it('deploys collections and NFTs, and reports them once they are final', async () => {
    await place.setUp()
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    expect(collection.address).toBe(mintAddress(place.signer, collection.id))
    const ids = await mint(backend, collection, plainMetadata(5), receive)
    await expectEachOnce(backend, ids)
    expect((await showCollection(backend, collection.id)).status).toBe('deployed')
    const metrics = await (await backend.get('/metrics')).text()
    expect(metrics).toContain(`gdn_signer_balance_coins{blockchain="solana",signer="${place.signer}"}`)
    expect(metrics).toMatch(
      /gdn_rpc_requests_total\{blockchain="solana",provider="127\.0\.0\.1:\d+",outcome="answered"\}/,
    )
  })

  it("is rejected with the setup command if it isn't set up", async () => {
    const backend = await start()
    const answer = await backend.post('/api/v1/createcollection', { name: 'Test', ...SOLANA_COLLECTION })
    expect([answer.status, answer.headers.get('request-accepted')]).toEqual([503, 'no'])
    expect(answer.json.error.message).toMatch(/solana is not set up/)
  })

  it('resumes pending work after a restart', async () => {
    await place.setUp()
    const backend = await place.start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    const ids = await mint(backend, collection, plainMetadata(8), receive)
    await until(transactions, (rows) => rows.length > 1)
    await backend.close()
    await expectEachOnce(await start(), ids)
  })

  it("receives nothing but the genesis request if its genesis differs, and the backend isn't ready", async () => {
    await place.setUp()
    const proxy = await proxied({
      answer: ({ method }) => (method === 'getGenesisHash' ? { result: GENESIS_HASHES.devnet } : undefined),
    })
    await place.write({ urls: [proxy.url] })
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    await expect(mint(backend, collection, plainMetadata(1), receive)).rejects.toThrow(
      /503.*solana can't be read.*belongs to the cluster devnet.*nothing was accepted/,
    )
    await until(
      () => backend.log.join(''),
      (log) => log.includes('a pipeline step failed'),
    )
    expect(new Set(proxy.calls.map(({ method }) => method))).toEqual(new Set(['getGenesisHash']))
    expect(await transactions()).toEqual([])
    const ready = await backend.get('/readyz')
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringMatching(/belongs to the cluster devnet/)])
  })
})

describe('mints each NFT exactly once', () => {
  it('when transactions are lost until their blockhash expires, and responses fail or are late', async () => {
    const { random } = seededRandom('cluster faults')
    await place.setUp()
    let healed = false
    const spoil = () => !healed && random() < 0.2
    const proxy = await proxied({
      delayMs: () => (spoil() ? 200 : 0),
      refuse: () => (spoil() ? { status: 500 } : undefined),
      answer: ({ method, params }) => {
        if (method === 'sendTransaction' && !healed && random() < 0.6) return { result: String(params[0]).slice(0, 80) }
        return undefined
      },
    })
    await place.write({ urls: [proxy.url] })
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    const ids = await mint(backend, collection, plainMetadata(12), receive)
    await until(transactions, (rows) => rows.some(({ state }) => state === 'lost'))
    healed = true
    await expectEachOnce(backend, ids)
  })

  it('when the first transaction never arrives: signs another once the first has finally expired', async () => {
    await place.setUp()
    const lost = new Set<string>()
    const proxy = await proxied({
      answer: ({ method, params }) => {
        if (method !== 'sendTransaction') return undefined
        if (lost.size === 0) lost.add(params[0])
        return lost.has(params[0]) ? { result: 'lost' } : undefined
      },
    })
    await place.write({ urls: [proxy.url] })
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    await until(
      () => showCollection(backend, collection.id),
      ({ status }) => status === 'deployed',
    )
    const [first, second] = await transactions()
    expect([first?.state, second?.state]).toEqual(['lost', 'final'])
    expect(second?.mint).toBe(first?.mint)
    expect(second?.last_valid_height).toBeGreaterThan((first?.last_valid_height ?? 0) + 1)
  })

  it('when a provider is over its rate limit: uses the next one', async () => {
    await place.setUp()
    const busy = await proxied({ refuse: () => ({ status: 429, headers: { 'retry-after': '30' } }) })
    await place.write({ urls: [busy.url, cluster.url] })
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    await expectEachOnce(backend, await mint(backend, collection, plainMetadata(3), receive))
    expect(busy.requests).toHaveLength(1)
  })
})

it('rejects requests while funds are missing, keeps accepted ones pending, and resumes once funded', async () => {
  await place.setUp()
  let isHeld = false
  const proxy = await proxied({
    answer: ({ method }) => (isHeld && method === 'sendTransaction' ? { result: 'not now' } : undefined),
  })
  await place.write({ urls: [proxy.url] })
  const backend = await start()
  const collection = await createTestCollection(backend, SOLANA_COLLECTION)
  await until(
    () => showCollection(backend, collection.id),
    ({ status }) => status === 'deployed',
  )
  // Signed while the funds cover all of them; when they are sent, the funds cover two or three.
  isHeld = true
  const ids = await mint(backend, collection, plainMetadata(12), receive)
  await until(transactions, (rows) => rows.length === 13)
  await cluster.fund(place.signer, SOL / 50n)
  isHeld = false
  const statuses = async () => (await showNfts(backend, ids)).map(({ status }) => status)
  await until(statuses, (all) => all.includes('deployed'))
  const ask = () => backend.post('/api/v1/createcollection', { name: 'Poor', ...SOLANA_COLLECTION })
  const refused = await until(ask, ({ status }) => status === 503)
  expect(refused.json.error.message).toMatch(
    new RegExp(`the signer ${place.signer} has [0-9.]+ SOL on solana and needs [0-9.]+: send [0-9.]+ SOL`),
  )
  expect([refused.headers.get('request-accepted'), refused.headers.get('retry-after')]).toEqual(['no', '30'])
  const waiting = await statuses()
  expect(new Set(waiting)).toEqual(new Set(['deployed', 'initiated']))
  // However often they were polled before.
  const looked = (await transactions()).filter(({ state }) => state === 'signed').map((row) => row.next_attempt_at)
  expect(Math.max(...looked) - Date.now()).toBeLessThan(5000)
  await cluster.fund(place.signer, 10n * SOL)
  await expectEachOnce(backend, ids)
  expect((await until(ask, ({ status }) => status === 200)).status).toBe(200)
})

describe('setting up a cluster', () => {
  const status = async () => withCluster(await chainPlaceOf(place.dataDir), 'solana', clusterStatus)

  it('shows upper bounds for the cost of a collection and an NFT beforehand', async () => {
    const before = await status()
    expect(before).toMatchObject({
      set_up: false,
      problem: 'the cluster is not set up',
      signer: place.signer,
      balance: '10',
    })
    expect(before.nfts_left).toBe(Math.floor(10 / Number(before.cost_per_nft)))
    await place.setUp()
    const backend = await start()
    const collection = await createTestCollection(backend, { ...SOLANA_COLLECTION, name: 'n'.repeat(64) })
    const named = [{ title: 't'.repeat(64), description: '', file_fields: [] }]
    await settled(backend, await mint(backend, collection, named, receive))
    const after = await status()
    expect(after).toMatchObject({ set_up: true, problem: null })
    const spent = Number(before.balance) - Number(after.balance)
    const statedCost = Number(before.cost_per_nft) + Number(before.cost_per_collection)
    expect(spent).toBeLessThanOrEqual(statedCost)
    expect(spent).toBeGreaterThan(0.95 * statedCost)
  })

  it('binds the data to the cluster and the signer, and rejects any other', async () => {
    await place.setUp()
    await place.setUp()
    const other = newKeypair()
    const path = join(place.dataDir, 'signer.json')
    await writeFile(path, JSON.stringify(other.bytes), { mode: 0o600 })
    await expect(place.setUp()).rejects.toMatchObject({ code: 'invalid_config' })
    await expect(place.start()).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining(`was set up for the signer ${place.signer}`),
    })
    await place.write({ more: { genesis_hash: GENESIS_HASHES.testnet } })
    await expect(place.start()).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(
        /^the database stores solana as the network of genesis \w+, but the configuration has genesis \w+$/,
      ),
    })
  })

  it.each([
    ['readable by others', async (path: string) => chmod(path, 0o644), /chmod 600/],
    ['that is not a list', (path: string) => writeFile(path, '{"a":1}'), /is not a Solana keypair/],
    [
      'that is too short',
      (path: string) => writeFile(path, JSON.stringify(newKeypair().bytes.slice(1))),
      /is not a Solana keypair/,
    ],
    [
      'with a number that is not a byte',
      (path: string) => writeFile(path, JSON.stringify([...newKeypair().bytes.slice(1), 256])),
      /is not a Solana keypair/,
    ],
    [
      'with mismatched halves',
      (path: string) =>
        writeFile(path, JSON.stringify([...newKeypair().bytes.slice(0, 32), ...newKeypair().bytes.slice(32)])),
      /is damaged/,
    ],
  ])('rejects a keypair %s at the start without quoting it', async (_, spoil, message) => {
    await place.setUp()
    const path = join(place.dataDir, 'signer.json')
    await spoil(path)
    const error = await place.start().catch((cause: unknown) => cause)
    expect(error).toMatchObject({ code: 'invalid_input', place: { file: path } })
    expect(`${error} ${(error as { hint?: string }).hint}`).toMatch(message)
    expect(JSON.stringify(error)).not.toMatch(/\d+,\d+,\d+/)
  })

  it.each([
    [{ genesis_hash: 'nothing' }, 'genesis_hash'],
    [{ genesis_hash: GENESIS_HASHES.devnet, cluster: 'devnet' }, 'genesis_hash'],
    [{ cluster: 'mainnet' }, 'cluster'],
    [{ commitment: 'processed' }, 'commitment'],
    [{ max_compute_unit_price: -1 }, 'max_compute_unit_price'],
    [{ signer: {} }, 'signer'],
    [{ signer: { keypair_file: 'a', keypair_credential: 'b' } }, 'signer'],
    [{ chain_id: 1 }, 'chain_id'],
  ])('rejects %j in the configuration with its location', async (more, field) => {
    await place.write({ more })
    await expect(place.start()).rejects.toMatchObject({
      code: 'invalid_config',
      place: { field: `chains.solana.${field}` },
    })
  })
})

describe('responses of nodes', () => {
  function connect(options: Partial<RemoteSolanaOptions> = {}): RemoteSolana {
    const network = createRemoteSolana({
      ...{ blockchain: 'solana', genesisHash: cluster.genesisHash, urls: [cluster.url], commitment: 'finalized' },
      ...{ pollMs: 50, priceCap: 0n, maxAttempts: 1 },
      ...options,
    })
    undo.push(() => network.close())
    return network
  }

  it('are ignored if they are older than the newest final block known', async () => {
    let late = false
    const proxy = await proxied({
      answer: ({ method }) => {
        if (!late) return undefined
        if (method === 'getSignatureStatuses') return { result: { context: { slot: 1 }, value: [null] } }
        if (method === 'getEpochInfo') return { result: { absoluteSlot: 1, blockHeight: 1 } }
        return undefined
      },
    })
    const network = connect({ urls: [proxy.url] })
    await until(
      () => network.blockHeight(),
      (height) => height > 3,
    )
    late = true
    const signature = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv'
    await expect(network.statuses([signature])).rejects.toMatchObject({ code: 'unreachable' })
    await expect(network.blockHeight()).rejects.toMatchObject({ code: 'unreachable' })
    await network.account(place.signer)
    const infoCall = proxy.calls.find(({ method }) => method === 'getAccountInfo')
    expect(infoCall?.params[1]).toMatchObject({ commitment: 'finalized', minContextSlot: expect.any(Number) })
  })

  it.each([
    [
      'getLatestBlockhash',
      { value: { blockhash: 7, lastValidBlockHeight: 'x' } },
      (of: RemoteSolana) => of.latestBlockhash(),
    ],
    ['getEpochInfo', { absoluteSlot: -1, blockHeight: 1.5 }, (of: RemoteSolana) => of.blockHeight()],
    ['getBalance', { value: '9'.repeat(100) }, (of: RemoteSolana) => of.balance(place.signer)],
    ['getAccountInfo', { value: { data: 'x' } }, (of: RemoteSolana) => of.account(place.signer)],
    ['getSignatureStatuses', { context: { slot: 9e9 }, value: [] }, (of: RemoteSolana) => of.statuses(['x'])],
  ])('are rejected if %s returns nonsense', async (name, result, ask) => {
    const proxy = await proxied({ answer: ({ method }) => (method === name ? { result } : undefined) })
    await expect(ask(connect({ urls: [proxy.url] }))).rejects.toMatchObject({ code: 'unreachable' })
  })

  it.each([
    ['finalized', 'processed', false],
    ['finalized', 'confirmed', false],
    ['finalized', 'finalized', true],
    ['confirmed', 'processed', false],
    ['confirmed', 'confirmed', true],
    ['confirmed', 'finalized', true],
  ] as const)(
    'with commitment %s, a transaction that is %s counts: %s',
    async (commitment, confirmationStatus, counts) => {
      const value = [{ slot: 7, err: null, confirmationStatus }]
      const proxy = await proxied({
        answer: ({ method }) =>
          method === 'getSignatureStatuses' ? { result: { context: { slot: 9 }, value } } : undefined,
      })
      const statuses = await connect({ urls: [proxy.url], commitment }).statuses(['x'])
      expect(statuses).toEqual([counts ? { slot: 7, error: null } : null])
    },
  )

  it('count as a failure only once it is finalized, even with commitment confirmed', async () => {
    let confirmationStatus = 'confirmed'
    const proxy = await proxied({
      answer: ({ method }) => {
        const value = [{ slot: 7, err: 'AccountNotFound', confirmationStatus }]
        return method === 'getSignatureStatuses' ? { result: { context: { slot: 9 }, value } } : undefined
      },
    })
    const network = connect({ urls: [proxy.url], commitment: 'confirmed' })
    expect(await network.statuses(['x'])).toEqual([null])
    confirmationStatus = 'finalized'
    expect(await network.statuses(['x'])).toMatchObject([{ error: '"AccountNotFound"' }])
  })

  it.each([
    [{ InstructionError: [2, { Custom: 1 }] }, true],
    [{ InsufficientFundsForRent: { account_index: 0 } }, true],
    [{ InstructionError: [2, { Custom: 10 }] }, undefined],
    [{ InstructionError: [1, 'InvalidAccountData'] }, undefined],
  ])('tell whether funds were missing: %j', async (err, unpaid) => {
    const value = [{ slot: 7, err, confirmationStatus: 'finalized' }]
    const proxy = await proxied({
      answer: ({ method }) =>
        method === 'getSignatureStatuses' ? { result: { context: { slot: 9 }, value } } : undefined,
    })
    const [told] = await connect({ urls: [proxy.url] }).statuses(['x'])
    expect([told?.error, told?.unpaid]).toEqual([JSON.stringify(err), unpaid])
  })

  it('resends the same bytes only after some polls, however often send() is called', async () => {
    const proxy = await proxied({
      answer: ({ method }) => (method === 'sendTransaction' ? { result: 'accepted' } : undefined),
    })
    const network = connect({ urls: [proxy.url], pollMs: 100_000 })
    for (let look = 0; look < 5; look++) expect(await network.send(['AQID'])).toEqual([{ outcome: 'accepted' }])
    expect(proxy.count('sendTransaction')).toBe(1)
    const later = performance.now() + 300_001
    vi.spyOn(performance, 'now').mockReturnValue(later)
    await network.send(['AQID'])
    expect(proxy.count('sendTransaction')).toBe(2)
    vi.restoreAllMocks()
  })
})

describe('fees', () => {
  const market = (recent: readonly number[], cap: bigint) =>
    createFeeMarket({ cap, recent: async () => recent.map(BigInt) })

  it.each([
    ['zero if no block pays a priority fee', [0, 0, 0], 1000n, false, 0n],
    ['the price that three of four recent blocks accepted', [1, 2, 3, 4, 5, 6, 7, 8, 9], 1000n, false, 7n],
    ['at most the configured cap', [5000, 5000], 1000n, false, 1000n],
    ['twice as much after an expired transaction', [3000, 3000, 3000], 10_000n, true, 6000n],
    ['a minimum after an expired transaction if no block pays a fee', [], 10_000n, true, 1000n],
    ['zero with a cap of 0', [5000], 0n, true, 0n],
  ])('are %s', async (_, recent, cap, urgent, price) => {
    expect(await market(recent, cap).price({ urgent })).toBe(price)
  })

  it('are included in the transaction, which still fits into its packet', async () => {
    await place.setUp()
    const proxy = await proxied({
      answer: ({ method }) =>
        method === 'getRecentPrioritizationFees' ? { result: [{ slot: 1, prioritizationFee: 4321 }] } : undefined,
    })
    await place.write({ urls: [proxy.url] })
    const backend = await start()
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    const long = [{ title: 'ü'.repeat(600), description: '', file_fields: [] }]
    await expectEachOnce(backend, await mint(backend, collection, long, receive))
    const sentTransactions = proxy.calls.flatMap(({ method, params }) =>
      method === 'sendTransaction' ? [Buffer.from(params[0], 'base64')] : [],
    )
    const price = Buffer.alloc(9)
    price.writeUInt8(3, 0)
    price.writeBigUInt64LE(4321n, 1)
    for (const bytes of sentTransactions) {
      expect(bytes.length).toBeLessThanOrEqual(1232)
      expect(bytes.includes(price)).toBe(true)
    }
    expect(sentTransactions.length).toBeGreaterThan(1)
  })
})
