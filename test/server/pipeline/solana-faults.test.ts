import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { type EmbeddedSolana, startEmbeddedSolana } from '../../../src/server/chain/solana/embedded/embedded-solana.ts'
import { mintAddress } from '../../../src/server/chain/solana/mint-address.ts'
import type { SolanaNetwork } from '../../../src/server/chain/solana/network.ts'
import { signerFromSeed } from '../../../src/server/chain/solana/solana-signer.ts'
import { type ChainPipeline, startChainPipeline } from '../../../src/server/pipeline/chain-pipeline.ts'
import { createSolanaDriver } from '../../../src/server/pipeline/solana/driver.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import { temporaryDataDir, until } from '../../helpers/backend.ts'
import { insertCollection, insertNfts } from '../../helpers/rows.ts'
import { seededRandom } from '../../helpers/seed.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'
import { executeAll, memorySlotJournal, readMint, solanaWallet } from '../../helpers/solana.ts'

const signer = signerFromSeed(randomBytes(32))
/** A blockhash expires after a second instead of a minute. */
const SPEED = 60

const unused = undefined as never

let dataDir: string
let store: Store
let chain: EmbeddedSolana
let journal: ReturnType<typeof memorySlotJournal>
let pipeline: ChainPipeline | undefined
let now: () => number

beforeEach(async () => {
  dataDir = await temporaryDataDir()
  store = await openStore(join(dataDir, 'gdn.db'))
  journal = memorySlotJournal()
  const since = performance.now()
  now = () => journal.genesisTimestamp * 1000 + Math.floor((performance.now() - since) * SPEED)
  chain = await startEmbeddedSolana({ blockchain: 'solana', journal, payer: signer.address, now })
  await store.db.insertInto('accounts').values({ id: 'account', email: null, created_at: 0 }).execute()
  await store.db
    .insertInto('requests')
    .values({ id: 'request', account_id: 'account', endpoint: 'x', body_hash: 'x', response: '', accepted_at: 0 })
    .execute()
})
afterEach(async () => {
  await pipeline?.stop()
  pipeline = undefined
  await chain.close()
  await store.close()
})

/** Runs the pipeline on the chain through a network with injected faults. */
function run(faults: Partial<SolanaNetwork> = {}) {
  const network: SolanaNetwork = { ...chain, ...faults }
  const affordable = async () => Number.POSITIVE_INFINITY
  const solana = { signer: async () => signer, network: async () => network, affordable }
  // No NFT here has files.
  const files = { storage: unused, fetcher: unused, files: unused }
  const createDriver = () =>
    createSolanaDriver({ store, solana, blockchain: 'solana', ...files, onSigned() {}, now, log: SILENT_LOG })
  pipeline = startChainPipeline({ store, createDriver, now, log: SILENT_LOG, serves: () => true })
  return pipeline
}

async function collectionRow() {
  const id = newId()
  await insertCollection(store.db, {
    id,
    account_id: 'account',
    request_id: 'request',
    blockchain: 'solana',
    name: 'Test',
    symbol: 'TEST',
    wallet_address: solanaWallet('collection'),
    contract_address: mintAddress(signer.address, id),
    factory_address: signer.address,
    enable_api: 1,
    enable_transfer: 0,
    is_locked: 0,
    description: '',
    image: '',
    status: 'initiated',
    next_token_id: '1',
    next_attempt_at: 0,
  })
  return { id, mint: mintAddress(signer.address, id) }
}

async function nftRows(collectionId: string, count: number, step: 'mint' | 'files' = 'mint') {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: newId(),
    request_id: 'request',
    collection_id: collectionId,
    receiver: solanaWallet(index % 7),
    metadata: JSON.stringify({ title: `NFT ${index}`, description: '', file_fields: [] }),
    status: 'initiated' as const,
    step,
    next_attempt_at: 0,
  }))
  await insertNfts(store.db, rows)
  return rows.map(({ id }) => id)
}

const nfts = () => store.db.selectFrom('nfts').selectAll().orderBy('seq').execute()
const transactions = () => store.db.selectFrom('transactions').selectAll().orderBy('id').execute()
const finished = () =>
  until(nfts, (rows) => rows.every(({ step }) => step === 'done'), 90_000).then((rows) => {
    expect(rows.filter(({ step }) => step !== 'done')).toEqual([])
    return rows
  })

/** Expects one mint with one token for each NFT, and no other members of the collection. */
async function expectEachOnce(ids: readonly string[], collectionMint: string) {
  const rows = await finished()
  expect(rows.map(({ status, error, token_id }) => [status, error, token_id])).toEqual(
    ids.map((id) => ['deployed', null, mintAddress(signer.address, id)]),
  )
  const machine = executeAll(
    journal.kept.flatMap(({ transactions: raws }) => raws),
    { failures: 'allowed' },
  )
  expect(readMint(machine, collectionMint)?.group?.size).toBe(BigInt(ids.length))
  for (const row of rows) {
    const found = readMint(machine, row.token_id ?? '')
    expect([found?.supply, found?.metadata?.uri]).toEqual([1n, row.metadata_url])
  }
}

describe('mints each NFT exactly once', () => {
  it('when responses are lost, transactions are dropped, and outcomes are lost', async () => {
    const { random } = seededRandom('solana faults')
    const { id, mint } = await collectionRow()
    const ids = await nftRows(id, 150)
    run({
      async send(raws) {
        if (random() < 0.15) throw new Error('connection refused')
        const passed = raws.map(() => random() < 0.7)
        const outcomes = await chain.send(raws.filter((_, index) => passed[index]))
        if (random() < 0.15) throw new Error('connection reset')
        return passed.map((isPassed) => (isPassed ? outcomes.shift() : undefined) ?? { outcome: 'accepted' })
      },
      async statuses(signatures) {
        if (random() < 0.1) throw new Error('connection reset')
        return (await chain.statuses(signatures)).map((status) => (random() < 0.2 ? null : status))
      },
    })
    await expectEachOnce(ids, mint)
  })

  it('when a first transaction never arrives: signs another for the same mint and metadata after it expires', async () => {
    const { id, mint } = await collectionRow()
    const lost = new Set<string>()
    run({
      async send(raws) {
        if (lost.size === 0) for (const raw of raws) lost.add(raw)
        const kept = raws.filter((raw) => !lost.has(raw))
        await chain.send(kept)
        return raws.map(() => ({ outcome: 'accepted' }))
      },
    })
    await until(transactions, (rows) => rows.some(({ state }) => state === 'final'))
    const [first, second] = await transactions()
    expect([first?.state, second?.state]).toEqual(['lost', 'final'])
    expect([second?.mint, second?.directory]).toEqual([first?.mint, first?.directory])
    expect(second?.block_number).toBeGreaterThan(first?.last_valid_height ?? Number.POSITIVE_INFINITY)
    await expectEachOnce(await nftRows(id, 3), mint)
  })

  it('when the network returns no outcome: checks the account at the address', async () => {
    const { id, mint } = await collectionRow()
    const ids = await nftRows(id, 5)
    run({ statuses: async (signatures) => signatures.map(() => null) })
    await expectEachOnce(ids, mint)
    const states = (await transactions()).map(({ state, block_number }) => [state, block_number])
    expect(states).toEqual(Array.from({ length: 6 }, () => ['final', null]))
  })

  it('when a restored database groups NFTs differently: keeps the metadata URLs and files of their tokens', async () => {
    const { id, mint } = await collectionRow()
    const first = await nftRows(id, 3)
    run()
    const before = await finished()
    await pipeline?.stop()
    // As before the NFTs were signed for, plus one more accepted NFT that comes before them.
    await store.db.deleteFrom('transactions').where('kind', '=', 'mint').execute()
    await store.db.deleteFrom('blocks').execute()
    const waiting = { status: 'initiated', step: 'mint', token_id: null, metadata_url: null } as const
    await stateDb(store.db)
      .updateTable('nfts')
      .set({ ...waiting, transaction_id: null, batch_index: null, owner: null })
      .execute()
    const [added = ''] = await nftRows(id, 1)
    await store.db.updateTable('nfts').set({ seq: 0 }).where('id', '=', added).execute()
    run()
    await expectEachOnce([added, ...first], mint)
    const urls = new Map((await nfts()).map((row) => [row.id, row.metadata_url]))
    expect(before.map((row) => urls.get(row.id))).toEqual(before.map((row) => row.metadata_url))
    const blocks = (await store.db.selectFrom('blocks').select('cid').execute()).map(({ cid }) => cid)
    expect(blocks).toContain(String(before[0]?.metadata_url).split('/')[2])
  })

  it('when somebody else funds the address of a mint first: mints the token', async () => {
    const { id, mint } = await collectionRow()
    const ids = await nftRows(id, 2)
    const paid = { owner: '11111111111111111111111111111111', lamports: 1n, data: new Uint8Array() }
    let isLost = true
    run({
      send: async (raws) => (isLost ? raws.map(() => ({ outcome: 'accepted' as const })) : await chain.send(raws)),
      async account(address) {
        isLost = false
        return (await chain.account(address)) ?? paid
      },
    })
    await expectEachOnce(ids, mint)
  })

  it('when a transaction may still arrive: signs no replacement', async () => {
    await collectionRow()
    let height = 0
    let polls = 0
    run({
      send: async (raws) => raws.map(() => ({ outcome: 'accepted' })),
      async blockHeight() {
        polls += 1
        return height
      },
    })
    const [first] = await until(transactions, (rows) => rows.length > 0)
    height = first?.last_valid_height ?? 0
    polls = 0
    await until(
      () => polls,
      (count) => count >= 3,
    )
    expect(await transactions()).toHaveLength(1)
    height += 1
    expect(await until(transactions, (rows) => rows.length > 1)).toHaveLength(2)
  })
})

describe('a failed transaction', () => {
  const failure = { slot: 7, error: 'InsufficientFunds' }
  const swallow: SolanaNetwork['send'] = async (raws) => raws.map(() => ({ outcome: 'accepted' }))

  it('a failed transaction of a collection fails the collection and every NFT in it, with the reason', async () => {
    const { id } = await collectionRow()
    await nftRows(id, 2)
    await nftRows(id, 1, 'files')
    run({ send: swallow, statuses: async (signatures) => signatures.map(() => failure) })
    const rows = await finished()
    const [{ hash: signature } = { hash: '' }] = await transactions()
    const reason = `the collection could not be deployed: its transaction ${signature} failed (InsufficientFunds)`
    expect(rows.map(({ status, error, token_id }) => [status, error, token_id])).toEqual(
      rows.map(() => ['failed', reason, null]),
    )
    const collection = await store.db.selectFrom('collections').selectAll().executeTakeFirstOrThrow()
    expect([collection.status, collection.error]).toEqual(['failed', reason])
    // An NFT accepted at the same moment fails, too.
    await nftRows(id, 1)
    pipeline?.markMintable(id)
    expect((await finished()).at(-1)).toMatchObject({ status: 'failed', error: reason })
  })

  it('a failed transaction of an NFT fails only that NFT, and the others are minted', async () => {
    const { id, mint } = await collectionRow()
    const ids = await nftRows(id, 3)
    const unlucky = mintAddress(signer.address, ids[1] ?? '')
    const isUnlucky = async (column: 'raw' | 'hash', value: string) =>
      (await transactions()).some((row) => row.mint === unlucky && row[column] === value)
    run({
      async send(raws) {
        for (const raw of raws) if (!(await isUnlucky('raw', raw))) await chain.send([raw])
        return raws.map(() => ({ outcome: 'accepted' }))
      },
      async statuses(signatures) {
        const found = await chain.statuses(signatures)
        return Promise.all(
          found.map(async (one, i) => ((await isUnlucky('hash', signatures[i] ?? '')) ? failure : one)),
        )
      },
    })
    const rows = await finished()
    expect(rows.map(({ status }) => status)).toEqual(['deployed', 'failed', 'deployed'])
    expect(rows[1]?.error).toMatch(/^the mint failed on the network: its transaction \w+ failed \(InsufficientFunds\)$/)
    const machine = executeAll(journal.kept.flatMap(({ transactions: raws }) => raws))
    expect(readMint(machine, mint)?.group?.size).toBe(2n)
  })
})
