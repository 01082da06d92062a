import { afterEach, beforeEach, expect, it } from 'vitest'
import { getNfts } from '../../../src/server/services/get-nfts.ts'
import { setLimit } from '../../../src/server/store/run-costs.ts'
import { type StoreWithRun, storeWithRun } from '../../helpers/store-with-run.ts'

let place: StoreWithRun

beforeEach(async () => {
  place = await storeWithRun()
})
afterEach(() => place?.remove())

it('says for which funds, nodes or blocks an accepted NFT waits', async () => {
  await place.addNfts(1)
  const read = async (problem: string | null, silence: string | null = null, isStalled = false) => {
    const newestBlock = async () => ({ number: 7, time: Date.UTC(2026, 0, 31, 12), isStalled })
    const chains = {
      remote: { problem: () => problem, silenceReason: () => silence, has: () => true, newestBlock },
    } as never
    const parsed = { nft_gdn_ids: ['n0'] }
    const { nfts } = await getNfts({ store: place.store, chains, now: Date.now }, { accountId: 'a', parsed } as never)
    return nfts[0]?.pending_reason
  }
  const missing = 'the signer 0x12 has 0 ETH on base and needs 0.003: send 0.003 ETH'
  expect([await read(missing), await read(null)]).toEqual([missing, undefined])
  expect(await read(null, 'no node responds')).toBe("the network polygon can't be used: no node responds")
  expect(await read(null, null, true)).toBe('the network polygon has had no new block since 2026-01-31 12:00:00 UTC')
})

it('says that an NFT waits because of the limit of its run, also where the signer lacks funds', async () => {
  await place.addNfts(1)
  await setLimit(place.store.db, { account_id: 'a', run: 'run' }, { max_fee: '1' })
  const fee = { maxFeePerGas: 200n, maxPriorityFeePerGas: 0n }
  const publicNetwork = { feeCap: 1000n, suggestFees: async () => fee }
  const request = async (method: string) => (method === 'eth_gasPrice' ? '0x64' : null)
  const network = { chainId: 137, request, publicNetwork }
  const chains = {
    network: async () => network,
    remote: {
      ...{ problem: () => 'the signer 0x12 has 0 ETH', silenceReason: () => null, has: () => true },
      ...{ newestBlock: async () => null, network: () => network },
    },
  } as never
  const serviceRequest = { accountId: 'a', parsed: { nft_gdn_ids: ['n0'] } } as never
  const { nfts } = await getNfts({ store: place.store, chains, now: Date.now }, serviceRequest)
  expect(nfts[0]?.pending_reason).toMatch(/^waiting for lower fees: the next blocks need up to .+ --max-fee-gwei /)
})

it('says that no node responds where the fees for the limit of a run would be read from one', async () => {
  await place.addNfts(1)
  await setLimit(place.store.db, { account_id: 'a', run: 'run' }, { max_fee: '1' })
  const noResponse = () => new Promise<never>(() => {})
  const network = { chainId: 137, request: noResponse, publicNetwork: { feeCap: 1000n, suggestFees: noResponse } }
  const chains = {
    network: async () => network,
    remote: {
      ...{ problem: () => null, silenceReason: () => 'no node responds', has: () => true },
      ...{ newestBlock: async () => null, network: () => network },
    },
  } as never
  const serviceRequest = { accountId: 'a', parsed: { nft_gdn_ids: ['n0'] } } as never
  const { nfts } = await getNfts({ store: place.store, chains, now: Date.now }, serviceRequest)
  expect(nfts[0]?.pending_reason).toBe("the network polygon can't be used: no node responds")
})
