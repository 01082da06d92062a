import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { formatCoins } from '../../../src/core/units.ts'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import {
  BURN_GAS_LIMIT,
  COMMIT_PROVENANCE_GAS_LIMIT,
  freezeGasLimit,
  makeGasLimit,
  TRANSFER_GAS_LIMIT,
  updateGasLimit,
} from '../../../src/server/chain/evm/gas-limits.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'

const [OWNER, ALICE, BOB] = WALLETS
const PRICE = EMBEDDED_FEES.maxFeePerGas

let backend: TestBackend
let collection: TestCollection
/** Deployed NFTs of ALICE that no test has changed, with their tokens. */
let nfts: { id: string; token: string }[]

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend, { dynamic: true, enable_burn: true, enable_transfer: true })
  const ids = await mint(backend, collection, plainMetadata(40))
  nfts = (await settled(backend, ids)).map(({ nft_gdn_id, token_id }) => ({ id: nft_gdn_id, token: token_id ?? '' }))
})

let runs = 0
const newRun = () => `run-${runs++}`
const takeNft = () => {
  const nft = nfts.pop()
  if (nft === undefined) throw new Error('no NFT is left')
  return nft
}

type Sent = Awaited<ReturnType<TestBackend['post']>>
type Send = (headers: Record<string, string>) => Promise<Sent>

const post = (name: string, body: object) => (headers: Record<string, string>) =>
  backend.post(`/api/v1/${name}`, { contract_address: collection.address, ...body }, headers)

/** Each returns a request for something new. */
const KINDS = {
  update: () => post('updatednft', { nft_gdn_id: takeNft().id, metadata: plainMetadata(1, 'Dusk') }),
  freeze: () => post('freezenft', { nft_gdn_ids: [takeNft().id] }),
  burn: () => post('burnnft', { nft_gdn_id: takeNft().id, holder_wallet_address: ALICE }),
  provenance: () => post('commitprovenance', { provenance: `0x${randomBytes(32).toString('hex')}` }),
  transfer: () => {
    const { id, token } = takeNft()
    const [sender_wallet_address, receiver_wallet_address] = [ALICE, BOB]
    const of = { nft_gdn_id: id, token_id: token, blockchain: collection.blockchain }
    return post('transfernft', { ...of, sender_wallet_address, receiver_wallet_address })
  },
  collection: (): Send => (headers) =>
    backend.post('/api/v1/createcollection', { wallet_address: OWNER, name: 'Dusk', blockchain: 'polygon' }, headers),
} satisfies Record<string, () => Send>

const WORST = {
  ...{ update: updateGasLimit([1n]), freeze: freezeGasLimit([1n]), burn: BURN_GAS_LIMIT, transfer: TRANSFER_GAS_LIMIT },
  provenance: COMMIT_PROVENANCE_GAS_LIMIT,
  collection: makeGasLimit({ name: 'Dusk', symbol: 'DUSK', royaltyBps: 0n }),
}

const limited = (run: string, wei: bigint | string) => ({ 'gdn-run': run, 'gdn-run-max-cost': String(wei) })
const costsOf = async (run: string) => (await call(backend, 'getruncosts', { run })).costs

/** Resolves when the change of an accepted request is on chain. */
const deployed = ({ json }: Sent) =>
  until(
    async () => {
      const { transaction_gdn_id } = json.response
      const table = await withStore(backend.dataDir, ({ db }) =>
        db
          .selectFrom('updates')
          .select('status')
          .where('id', '=', transaction_gdn_id)
          .unionAll(db.selectFrom('transfers').select('status').where('id', '=', transaction_gdn_id))
          .unionAll(db.selectFrom('collections').select('status').where('id', '=', transaction_gdn_id))
          .execute(),
      )
      return table[0]?.status
    },
    (status) => status === 'deployed',
  )

const transactionsOf = (run: string) =>
  withStore(backend.dataDir, ({ db }) => db.selectFrom('transactions').selectAll().where('run', '=', run).execute())

it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
  'counts what a %s costs: refuses it a wei below the worst case, and pays no more',
  async (kind) => {
    const run = newRun()
    const send = KINDS[kind]()
    const worst = WORST[kind] * PRICE
    const refused = await send(limited(run, worst - 1n))
    expect([refused.status, refused.headers.get('error-code')]).toEqual([409, 'run_max_cost'])
    expect(refused.json.error.message).toContain(`this request may cost up to ${formatCoins(worst, 'up')}`)
    const accepted = await send(limited(run, `${worst};set`))
    expect(accepted.status).toBe(200)
    await deployed(accepted)
    const [transaction, ...others] = await transactionsOf(run)
    expect([transaction?.kind, others]).toEqual([kind, []])
    const { fee_paid, max_cost } = await costsOf(run)
    expect([fee_paid, max_cost]).toEqual([transaction?.fee_paid, String(worst)])
    expect(BigInt(fee_paid)).toBeGreaterThan(0n)
    expect(BigInt(fee_paid)).toBeLessThanOrEqual(worst)
    if (kind === 'collection') return
    // What was paid replaces what was reserved, and both count.
    const more = KINDS[kind]()
    expect((await more(limited(run, `${worst + BigInt(fee_paid) - 1n};set`))).status).toBe(409)
    expect((await more(limited(run, `${worst + BigInt(fee_paid)};set`))).status).toBe(200)
  },
)

it.each(['update', 'freeze', 'burn', 'provenance', 'transfer'] as const)(
  'keeps the limit that a person has set for a %s that it refuses',
  async (kind) => {
    const run = newRun()
    const send = KINDS[kind]()
    const limit = WORST[kind] * PRICE - 1n
    expect((await send(limited(run, `${limit};set`))).headers.get('error-code')).toBe('run_max_cost')
    expect(await costsOf(run)).toMatchObject({ max_cost: String(limit), fee_paid: '0' })
    expect((await send({ 'gdn-run': run })).headers.get('error-code')).toBe('run_max_cost')
  },
)

it('accepts what fits beside requests of all kinds that are sent at the same time', async () => {
  const run = newRun()
  const sends = [KINDS.update, KINDS.burn, KINDS.transfer, KINDS.update, KINDS.burn, KINDS.transfer].map((kind) =>
    kind(),
  )
  const limit = (WORST.update + WORST.burn + WORST.transfer) * PRICE
  const answers = await Promise.all(sends.map((send) => send(limited(run, limit))))
  const accepted = answers.filter(({ status }) => status === 200)
  expect(answers.filter(({ status }) => status === 409).length).toBe(answers.length - accepted.length)
  expect(accepted.length).toBeLessThan(answers.length)
  await Promise.all(accepted.map(deployed))
  const paid = (await transactionsOf(run)).reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
  expect((await costsOf(run)).fee_paid).toBe(String(paid))
  expect(paid).toBeLessThanOrEqual(limit)
})

it('counts what a run had changed before it got a limit', async () => {
  const run = newRun()
  await Promise.all([KINDS.update(), KINDS.burn()].map(async (send) => deployed(await send({ 'gdn-run': run }))))
  const before = BigInt((await costsOf(run)).fee_paid)
  expect(before).toBeGreaterThan(0n)
  const send = KINDS.update()
  const worst = WORST.update * PRICE
  expect((await send(limited(run, `${before + worst - 1n};set`))).status).toBe(409)
  const accepted = await send(limited(run, `${before + worst};set`))
  expect(accepted.status).toBe(200)
  await deployed(accepted)
  const paid = (await transactionsOf(run)).reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
  expect((await costsOf(run)).fee_paid).toBe(String(paid))
})

it('shares the cost of updates of several runs in one transaction by their number, to the wei', async () => {
  const names = [newRun(), newRun(), newRun()]
  const sends = names.flatMap((run, index) =>
    Array.from({ length: index + 1 }, () => KINDS.update()({ 'gdn-run': run })),
  )
  const answers = await Promise.all(sends)
  await Promise.all(answers.map(deployed))
  const ids = answers.map(({ json }) => json.response.transaction_gdn_id as string)
  const rows = await withStore(backend.dataDir, ({ db }) =>
    db
      .selectFrom('updates')
      .innerJoin('transactions', 'transactions.id', 'updates.transaction_id')
      .select(['transactions.id', 'transactions.fee_paid', 'transactions.gas_used', 'transactions.token_count'])
      .where('updates.id', 'in', ids)
      .execute(),
  )
  const transactions = [...new Map(rows.map((row) => [row.id, row])).values()]
  expect(Math.max(...transactions.map(({ token_count }) => token_count))).toBeGreaterThan(1)
  const sum = (amounts: readonly (string | null)[]) =>
    amounts.reduce((total, amount) => total + BigInt(amount ?? 0), 0n)
  const costs = await Promise.all(names.map(costsOf))
  expect(sum(costs.map(({ fee_paid }) => fee_paid))).toBe(sum(transactions.map(({ fee_paid }) => fee_paid)))
  expect(sum(costs.map(({ gas_used }) => gas_used))).toBe(sum(transactions.map(({ gas_used }) => gas_used)))
  for (const { fee_paid } of costs) expect(BigInt(fee_paid)).toBeGreaterThan(0n)
})

it('makes updates of a run with a limit in transactions of their own', async () => {
  const [run, other] = [newRun(), newRun()]
  const limit = 2n * WORST.update * PRICE
  const answers = await Promise.all(
    [limited(run, limit), { 'gdn-run': other }, limited(run, limit), { 'gdn-run': other }].map((headers) =>
      KINDS.update()(headers),
    ),
  )
  await Promise.all(answers.map(deployed))
  const own = await transactionsOf(run)
  expect(own.reduce((sum, { token_count }) => sum + token_count, 0)).toBe(2)
  expect((await costsOf(run)).fee_paid).toBe(String(own.reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)))
})

it('rejects a change for a run of another collection', async () => {
  const run = newRun()
  await deployed(await KINDS.update()({ 'gdn-run': run }))
  const { status, json } = await KINDS.collection()({ 'gdn-run': run })
  expect([status, json.error.message]).toEqual([400, `the run ${run} belongs to another collection`])
})
