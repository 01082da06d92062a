import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
/** Ends the mining. */
let stop = async () => {}
/** Every block has it. */
let baseFee = 10n ** 9n

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 0.3 } })
  baseFee = 10n ** 9n
  startMining()
  backend = await place.start()
})
afterEach(async () => {
  await stop()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

function startMining(): void {
  let isOpen = true
  const mining = (async () => {
    while (isOpen) {
      await real.call('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`])
      await real.mine()
      await sleep(30)
    }
  })()
  stop = () => {
    isOpen = false
    return mining
  }
}

async function deployedCollection(): Promise<TestCollection> {
  const collection = await createTestCollection(backend)
  await settled(backend, await mint(backend, collection, plainMetadata(1)))
  return collection
}

const RUN = 'a-run'
const ofRun = () =>
  withStore(place.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('run', '=', RUN).orderBy('nonce').execute(),
  )

async function mintLimited({ address, blockchain }: TestCollection, more: Record<string, string>): Promise<string[]> {
  const body = {
    contract_address: address,
    blockchain,
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(2),
  }
  const headers = { 'gdn-run': RUN, ...more }
  const { json } = await backend.post('/api/v1/createnft', body, headers)
  return (json.nfts as { nft_gdn_ids: string }[]).map(({ nft_gdn_ids }) => nft_gdn_ids)
}

/** Resolves when an empty transaction has taken the nonce. */
const cancelled = (transaction: TransactionRow) =>
  until(ofRun, (rows) => rows.some(({ id, state }) => id === transaction.id && state === 'cancelled'))

it('a run whose limit allows no higher fees does not hold up its signer, and is minted when fees fall', async () => {
  const [limited, other] = [await deployedCollection(), await deployedCollection()]
  const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
  // A tenth more than the worst case.
  const limit = (mintGasLimit([{ receiver: '0x', count: 2 }]) * BigInt(fees.gas_price.offered) * 11n) / 10n
  await stop()
  const ids = await mintLimited(limited, { 'gdn-run-max-cost': String(limit) })
  const [stuck] = await until(ofRun, (rows) => rows.length > 0)
  baseFee *= 4n
  startMining()
  const free = await mint(backend, other, plainMetadata(1))
  await settled(backend, free)
  await cancelled(stuck as TransactionRow)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['initiated', 'initiated'])
  baseFee /= 4n
  await settled(backend, ids)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
  const paid = (await ofRun()).reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
  expect(paid).toBeLessThanOrEqual(limit)
  // The empty transaction is a cost of the run.
  const { costs } = (await backend.post('/api/v1/getruncosts', { run: RUN })).json
  expect(costs.fee_paid).toBe(String(paid))
})

it('a run whose limit of fees is reached does not hold up its signer either, and is minted when fees fall', async () => {
  const [limited, other] = [await deployedCollection(), await deployedCollection()]
  const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
  const max_fee = String(fees.gas_price.offered)
  const limit = { run: RUN, contract_address: limited.address, blockchain: limited.blockchain, max_fee }
  expect((await backend.post('/api/v1/setrunmaxfee', limit)).status).toBe(200)
  await stop()
  const ids = await mintLimited(limited, {})
  const [stuck] = await until(ofRun, (rows) => rows.length > 0)
  baseFee *= 4n
  startMining()
  await settled(backend, await mint(backend, other, plainMetadata(1)))
  await cancelled(stuck as TransactionRow)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['initiated', 'initiated'])
  baseFee /= 4n
  await settled(backend, ids)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
})
