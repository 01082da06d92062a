/** @module-tag slow */
import { parseTransaction } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import {
  backendForTest,
  createTestCollection,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { SOLANA_COLLECTION } from '../../helpers/solana.ts'

const [, ALICE] = WALLETS
const RUN = 'a-run'
/** Below every base fee of the embedded chain, and above. */
const [TOO_LOW, ENOUGH] = ['1', '5000000000']

let backend: TestBackend
let collection: TestCollection

beforeEach(async () => {
  backend = await backendForTest()
  collection = await createTestCollection(backend)
})

const ofCollection = ({ address }: TestCollection) => ({ contract_address: address, blockchain: 'polygon' })
const limit = (max_fee: string, more: object = {}) =>
  backend.post('/api/v1/setrunmaxfee', { run: RUN, ...ofCollection(collection), max_fee, ...more })
async function send(run: string | null, { count = 1, to = collection } = {}): Promise<string[]> {
  const body = { ...ofCollection(to), receiver_wallet_address: ALICE, metadata: plainMetadata(count) }
  const { status, json } = await backend.post('/api/v1/createnft', body, run === null ? {} : { 'gdn-run': run })
  expect(status).toBe(200)
  return (json.nfts as { nft_gdn_ids: string }[]).map(({ nft_gdn_ids }) => nft_gdn_ids)
}
const costs = async (run = RUN) => (await backend.post('/api/v1/getruncosts', { run })).json.costs
const signedFor = () =>
  withStore(backend.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('run', '=', RUN).orderBy('nonce').execute(),
  )

it('signs nothing for a run until fees are low enough, while other runs and collections go on', async () => {
  expect((await limit(TOO_LOW)).json).toMatchObject({ max_fee: TOO_LOW })
  const mine = await send(RUN, { count: 3 })
  const other = await createTestCollection(backend, { name: 'Other' })
  await settled(backend, [...(await send('another', { count: 2 })), ...(await send(null, { to: other }))])
  expect(await costs()).toMatchObject({
    max_fee: TOO_LOW,
    waiting: expect.stringMatching(
      /^waiting for lower fees: the next blocks need up to [0-9.]+ gwei, but the run offers at most .+ gwei; repeat the run's command with --max-fee-gwei [0-9.]+ or more to raise the limit$/,
    ),
  })
  expect(await costs('another')).toMatchObject({ max_fee: null, waiting: null })
  expect(await signedFor()).toEqual([])

  await backend.close()
  backend = await backendForTest({ dataDir: backend.dataDir })
  await settled(backend, await send(null))
  expect(await signedFor()).toEqual([])

  expect((await limit(ENOUGH)).status).toBe(200)
  await settled(backend, mine)
  expect(await costs()).toMatchObject({ max_fee: ENOUGH, waiting: null })
  const signed = await signedFor()
  expect(signed.map(({ token_count }) => token_count)).toEqual([3])
  expect(parseTransaction(signed[0]?.raw as `0x${string}`).maxFeePerGas).toBe(BigInt(ENOUGH))
})

it('replaces a limit, unless only one that is missing may be set', async () => {
  expect((await limit(ENOUGH, { only_if_unset: true })).json).toMatchObject({ max_fee: ENOUGH })
  expect((await limit(TOO_LOW, { only_if_unset: true })).json).toMatchObject({ max_fee: ENOUGH })
  expect((await limit(TOO_LOW)).json).toMatchObject({ max_fee: TOO_LOW })
})

it('announces that it limits the fees of runs', async () => {
  expect((await limit(ENOUGH)).headers.get('run-max-fee-supported')).toBe('yes')
})

it.each(['', '0', '-1', '1.5', '0x1', 'much', '1'.repeat(41)])('rejects the limit "%s"', async (value) => {
  const { status, json } = await limit(value)
  expect([status, json.error.message]).toEqual([
    400,
    expect.stringContaining('max_fee must be an amount in wei above 0, as decimal digits'),
  ])
})

it('rejects a run of another collection, and Solana', async () => {
  await limit(ENOUGH)
  const other = await createTestCollection(backend, { name: 'Other' })
  expect(await limit(ENOUGH, ofCollection(other))).toMatchObject({
    status: 400,
    json: { error: { message: `the run ${RUN} belongs to another collection` } },
  })
  const { address } = await createTestCollection(backend, SOLANA_COLLECTION)
  expect(await limit(ENOUGH, { run: 'new', contract_address: address, blockchain: 'solana' })).toMatchObject({
    status: 400,
    json: { error: { message: "the fees of a run on solana can't be limited" } },
  })
})
