import { beforeAll, beforeEach, expect, it } from 'vitest'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import {
  backendForFile,
  createTestCollection,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { makeKey } from '../../helpers/keys.ts'
import { SOLANA_COLLECTION } from '../../helpers/solana.ts'

const [, ALICE, BOB] = WALLETS

let backend: TestBackend
let collection: TestCollection
/** Each test has its own runs. */
let run: string
let another: string
let tests = 0

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend)
})
beforeEach(() => {
  run = `run-${++tests}`
  another = `another-${tests}`
})

/** The most that a request with one NFT can cost. */
const ONE = mintGasLimit([{ receiver: '0x', count: 1 }]) * EMBEDDED_FEES.maxFeePerGas
/** Amounts for people are in coins. */
const COINS =
  /^this request may cost up to 0\.\d+ POL, but only 0(\.\d+)? POL is left of the run's limit of 0\.\d+ POL \((nothing has been spent yet|0\.\d+ POL has been spent)( and 0\.\d+ POL is reserved for pending requests)?\); a limit of 0\.\d+ POL is enough; nothing was accepted$/

function send(
  headers: Record<string, string>,
  { count = 1, receiver = ALICE as string, references = [] as string[], to = collection } = {},
) {
  const body = {
    ...{ contract_address: to.address, blockchain: 'polygon', receiver_wallet_address: receiver },
    metadata: plainMetadata(count),
    ...(references.length === 0 ? {} : { reference_ids: references }),
  }
  return backend.post('/api/v1/createnft', body, headers)
}
const limited = (wei: bigint | string, more: Record<string, string> = {}) => ({
  ...{ 'gdn-run': run, 'gdn-run-max-cost': String(wei) },
  ...more,
})
const idsOf = ({ json }: Awaited<ReturnType<typeof send>>) =>
  (json.nfts as { nft_gdn_ids: string }[]).map(({ nft_gdn_ids }) => nft_gdn_ids)

/** What the transactions of the run have paid, and the most that they could have paid. */
const spent = () =>
  withStore(backend.dataDir, async ({ db }) => {
    const rows = await db.selectFrom('transactions').selectAll().where('run', '=', run).execute()
    return rows.reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
  })

it('announces that it limits the cost of runs', async () => {
  expect((await send({})).headers.get('run-max-cost-supported')).toBe('yes')
})

it('states the highest price that it ever offers', async () => {
  const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
  expect(fees.gas_price.max).toBe(String(EMBEDDED_FEES.maxFeePerGas))
})

it('accepts what fits in the worst case, refuses the rest, and accepts more when less was paid', async () => {
  const limit = 3n * ONE
  const answers = await Promise.all(Array.from({ length: 12 }, () => send(limited(limit))))
  const accepted = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status !== 200)
  expect(accepted).toHaveLength(3)
  for (const { status, headers, json } of refused) {
    expect([status, headers.get('error-code'), headers.get('retry-after')]).toEqual([409, 'run_max_cost', '5'])
    expect(json.error).toMatchObject({ title: 'Conflict', message: expect.stringMatching(COINS) })
  }
  await settled(backend, accepted.flatMap(idsOf))
  const more = await send(limited(limit))
  expect(more.status).toBe(200)
  await settled(backend, idsOf(more))
  expect(await spent()).toBeGreaterThan(0n)
  expect(await spent()).toBeLessThan(limit)
})

it('refuses for good what exceeds the limit alone, and accepts nothing of it', async () => {
  const { status, headers } = await send(limited(ONE - 1n))
  expect([status, headers.get('error-code'), headers.get('retry-after')]).toEqual([409, 'run_max_cost', null])
  expect((await send(limited(ONE))).status).toBe(200)
})

it('refuses for good what exceeds the unpaid part of the limit, also while requests are pending', async () => {
  const pending = send(limited(2n * ONE))
  const { status, headers } = await send(limited(2n * ONE), { count: 3 })
  expect([status, headers.get('error-code'), headers.get('retry-after')]).toEqual([409, 'run_max_cost', null])
  expect((await pending).status).toBe(200)
})

it('keeps the limit of a run for requests that do not say it, after a restart, too', async () => {
  await settled(backend, idsOf(await send(limited(2n * ONE))))
  await backend.close()
  backend = await backendForFile({ dataDir: backend.dataDir })
  expect((await send({ 'gdn-run': run }, { count: 100, receiver: BOB })).status).toBe(409)
  expect((await send({ 'gdn-run': another }, { count: 100, receiver: BOB })).status).toBe(200)
})

it('raises the limit only where a person has set it, so that an old client state does not', async () => {
  await send(limited(ONE))
  expect((await send(limited(9n * ONE))).status).toBe(409)
  expect((await send(limited(`${9n * ONE};set`))).status).toBe(200)
  expect((await send(limited(ONE))).status).toBe(409)
})

it('keeps a limit that a person has set for other machines, also when its request is refused', async () => {
  const refused = await send(limited(`${2n * ONE};set`), { count: 100, receiver: BOB })
  expect([refused.status, refused.headers.get('error-code')]).toEqual([409, 'run_max_cost'])
  const { costs } = (await backend.post('/api/v1/getruncosts', { run })).json
  expect(costs).toMatchObject({ max_cost: String(2n * ONE), fee_paid: '0' })
  const other = { 'gdn-run': run }
  expect((await send(other, { count: 100, receiver: BOB })).status).toBe(409)
  expect((await send(limited(`${3n * ONE};set`), { count: 100, receiver: BOB })).status).toBe(409)
  expect((await send(limited(`${ONE};set`), { count: 2 })).status).toBe(409)
  const answers = [await send(other), await send(other)]
  expect(answers.map(({ status }) => status)).toEqual([200, 409])
})

it('does not keep the limit of an agent whose request is refused', async () => {
  expect((await send(limited(2n * ONE), { count: 100, receiver: BOB })).status).toBe(409)
  expect((await send({ 'gdn-run': run }, { count: 3 })).status).toBe(200)
  expect((await backend.post('/api/v1/getruncosts', { run })).json.costs.max_cost).toBeNull()
})

it('counts what a run had paid before it got a limit', async () => {
  // Its transactions have no NFTs of other tests, whose part of the fee would count as well.
  const to = await createTestCollection(backend, { name: 'Alone' })
  await settled(backend, idsOf(await send({ 'gdn-run': run }, { count: 3, to })))
  const before = (await backend.post('/api/v1/getruncosts', { run })).json.costs
  const left = limited(`${ONE + BigInt(before.fee_paid)};set`)
  expect((await send(limited(`${ONE + BigInt(before.fee_paid) - 1n};set`), { to })).status).toBe(409)
  const more = await send(left, { to })
  expect(more.status).toBe(200)
  await settled(backend, idsOf(more))
  expect((await backend.post('/api/v1/getruncosts', { run })).json.costs.fee_paid).toBe(String(await spent()))
})

it('rejects a run in a second collection, where its limits would not count, and counts nothing of it', async () => {
  await settled(backend, idsOf(await send(limited(2n * ONE))))
  const to = await createTestCollection(backend, { name: 'Second' })
  for (const headers of [limited(2n * ONE), limited(`${9n * ONE};set`), { 'gdn-run': run }]) {
    const { status, json } = await send(headers, { to })
    expect([status, json.error.message]).toEqual([400, `the run ${run} belongs to another collection`])
  }
  expect((await backend.post('/api/v1/getruncosts', { run })).json.costs.max_cost).toBe(String(2n * ONE))
  expect((await send({ 'gdn-run': another }, { to })).status).toBe(200)
  expect((await send(limited(2n * ONE))).status).toBe(200)
})

it('reserves a repeated request once', async () => {
  const key = { 'idempotency-key': 'k' }
  const first = await send(limited(ONE, key))
  const secondResponse = await send(limited(ONE, key))
  expect([secondResponse.status, idsOf(secondResponse)]).toEqual([200, idsOf(first)])
  const named = { references: ['row'] }
  const other = await send(limited(`${3n * ONE};set`), named)
  expect(idsOf(await send(limited(`${3n * ONE};set`), named))).toEqual(idsOf(other))
})

it('signs nothing that could exceed the limit, and mints NFTs of runs with a limit apart', async () => {
  const limit = 2n * ONE
  const to = await createTestCollection(backend, { name: 'Apart' })
  const mine = await Promise.all([limited(limit), limited(limit), {}, {}].map((headers) => send(headers, { to })))
  await settled(backend, mine.flatMap(idsOf))
  await withStore(backend.dataDir, async ({ db }) => {
    const mints = db.selectFrom('transactions').selectAll().where('kind', '=', 'mint')
    const rows = await mints.where('collection_id', '=', to.id).execute()
    const countOf = (of: string | null) =>
      rows.filter(({ run: its }) => its === of).reduce((sum, { token_count }) => sum + token_count, 0)
    expect([countOf(run), countOf(null)]).toEqual([2, 2])
    for (const { fee_paid, gas_used } of rows) {
      expect(BigInt(fee_paid ?? 0)).toBeGreaterThanOrEqual(BigInt(gas_used ?? 0))
    }
  })
})

it('returns what a run has spent, of NFTs of its own, to its account only', async () => {
  const mine = await Promise.all([send(limited(9n * ONE), { count: 3 }), send({ 'gdn-run': another }, { count: 2 })])
  await settled(backend, mine.flatMap(idsOf))
  const costs = async (run: string) => (await backend.post('/api/v1/getruncosts', { run })).json.costs
  expect(await costs(run)).toMatchObject({
    ...{ blockchain: 'polygon', is_simulated: true, currency: 'POL', fee_paid: String(await spent()) },
    max_cost: String(9n * ONE),
  })
  expect(await costs(another)).toMatchObject({ max_cost: null, fee_paid: expect.stringMatching(/^[1-9]/) })
  expect((await backend.post('/api/v1/getruncosts', { run: 'nobody' })).status).toBe(404)
  const stranger = await makeKey(backend.dataDir, { permissions: ['nft:read'] })
  expect((await backend.post('/api/v1/getruncosts', { run }, stranger.headers)).status).toBe(404)
})

it('returns the part of the costs that no reorg changes', async () => {
  await settled(backend, idsOf(await send(limited(9n * ONE))))
  const costs = async () => (await backend.post('/api/v1/getruncosts', { run })).json.costs
  const paid = String(await spent())
  expect(await costs()).toMatchObject({ fee_paid: paid, final_fee_paid: paid })
  await withStore(backend.dataDir, ({ db }) => db.updateTable('transactions').set({ watched: 1 }).execute())
  expect(await costs()).toMatchObject({ fee_paid: paid, final_fee_paid: '0' })
})

it.each(['-1', '1.5', '0x1', '1;SET', 'much'])('rejects the limit "%s"', async (value) => {
  const { status, json } = await send(limited(value))
  expect([status, json.error.message]).toEqual([
    400,
    expect.stringContaining('gdn-run-max-cost must be an amount in wei'),
  ])
})

it('rejects a limit without a run, and on Solana', async () => {
  expect((await send({ 'gdn-run-max-cost': '1' })).status).toBe(400)
  const { address } = await createTestCollection(backend, SOLANA_COLLECTION)
  const body = {
    ...{ contract_address: address, blockchain: 'solana', receiver_wallet_address: address },
    metadata: plainMetadata(1),
  }
  const { status, json } = await backend.post('/api/v1/createnft', body, limited(1n))
  expect([status, json.error.message]).toEqual([400, "the cost of a run on solana can't be limited"])
})
