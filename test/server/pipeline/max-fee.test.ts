/** @module-tag slow */
import { parseGwei, parseTransaction } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  showCollection,
  showNfts,
  type TestCollection,
  withStore,
} from '../../helpers/backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'

let real: PublicNetwork
let remote: RemoteBackend

beforeEach(async () => {
  real = await startPublicNetwork()
  remote = await startRemoteBackend(real)
})
afterEach(async () => {
  await remote?.close()
  await real?.close()
})

/** Mines a block whose fee is above any limit of these tests. A block without transactions lowers it by an eighth. */
async function mineExpensive(): Promise<void> {
  await real.mine(1, (await baseFee()) < parseGwei('100') ? parseGwei('1000') : undefined)
}
const areDeployed = async (ids: readonly string[]) =>
  (await showNfts(remote.backend, ids)).every(({ status }) => status === 'deployed')
const baseFee = async () =>
  BigInt((await real.call<{ baseFeePerGas: Hex }>('eth_getBlockByNumber', ['latest', false])).baseFeePerGas)
const mints = () =>
  withStore(remote.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('kind', '=', 'mint').orderBy('nonce').execute(),
  )
async function deployedCollection(): Promise<TestCollection> {
  const collection = await createTestCollection(remote.backend)
  await real.mineUntil(async () => (await showCollection(remote.backend, collection.id)).status === 'deployed')
  return collection
}

it('a run waits for cheaper blocks without a nonce, then offers no more than its limit', async () => {
  const [collection, other] = [await deployedCollection(), await deployedCollection()]
  const maxFee = parseGwei('2')
  const limit = { run: 'run', contract_address: collection.address, blockchain: 'polygon', max_fee: String(maxFee) }
  // Before the limit: from then on, the backend reads fees, and takes them for current for a few seconds.
  await mineExpensive()
  expect((await remote.backend.post('/api/v1/setrunmaxfee', limit)).status).toBe(200)
  const mine = await mint(remote.backend, collection, plainMetadata(3), { headers: { 'gdn-run': 'run' } })
  const theirs = [
    ...(await mint(remote.backend, collection, plainMetadata(2))),
    ...(await mint(remote.backend, other, plainMetadata(1))),
  ]
  await real.mineUntil(() => areDeployed(theirs), Boolean, mineExpensive)
  expect(await baseFee()).toBeGreaterThan(maxFee)
  expect((await mints()).map(({ run }) => run)).toEqual([null, null])
  const { costs } = (await remote.backend.post('/api/v1/getruncosts', { run: 'run' })).json
  expect(costs.waiting).toMatch(
    /^waiting for lower fees: the next blocks need up to [0-9.]+ gwei, but the run offers at most 2 gwei; repeat the run's command with --max-fee-gwei [0-9.]+ or more to raise the limit$/,
  )
  await real.mineUntil(() => areDeployed(mine))
  const [last] = (await mints()).filter(({ run }) => run === 'run')
  expect(parseTransaction(last?.raw as Hex).maxFeePerGas).toBeLessThanOrEqual(maxFee)
})
