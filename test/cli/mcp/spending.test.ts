import { size } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import type { Blockchain } from '../../../src/api/blockchains.ts'
import { WORST_NFT, worstCaseOf } from '../../../src/cli/cost/worst-case.ts'
import type { Deps, Spending } from '../../../src/cli/deps.ts'
import { Ledger } from '../../../src/cli/mcp/spending.ts'
import { collectionInit } from '../../../src/server/chain/evm/collection-init.ts'
import { ENVELOPE_BYTES } from '../../../src/server/chain/evm/cost/drop-gas.ts'
import { encodeMake } from '../../../src/server/chain/evm/factory.ts'
import {
  BURN_GAS_LIMIT,
  COMMIT_PROVENANCE_GAS_LIMIT,
  freezeGasLimit,
  grantGasLimit,
  makeGasLimit,
  mintGasLimit,
  TRANSFER_GAS_LIMIT,
  updateGasLimit,
} from '../../../src/server/chain/evm/gas-limits.ts'
import { symbolOf } from '../../../src/server/services/create-collection.ts'
import { startHttpServer } from '../../helpers/http-server.ts'

const ONE = 10n ** 18n
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const OFFERED = 10n ** 9n
/** What one NFT is counted at. */
const PER_NFT = WORST_NFT.gasLimit * OFFERED
const POL = (amount: bigint) => ({ amount, currency: 'POL' })

interface Network {
  loopback?: boolean
  simulated?: boolean
  currency?: string
  answers?: boolean
  /** Where the price of a coin is read. */
  prices?: object
}

const io = { note: () => {}, settings: { debug: false } }
const deps = { env: {}, signals: { signal: new AbortController().signal }, io } as unknown as Deps

function spending(
  count: number,
  { loopback = false, simulated = false, currency = 'POL', answers = true, prices = {} }: Network = {},
  blockchain: Blockchain | null = 'polygon',
): Spending {
  const price = String(OFFERED)
  const fees = {
    is_simulated: simulated,
    currency,
    gas_price: { low: price, typical: price, high: price, offered: price },
    data: { bytes: 1, fee: '0', gas: '0' },
  }
  const call = async () => {
    if (!answers) throw new Error('no answer')
    return { fees }
  }
  const connection = {
    client: { call },
    server: { loopback, origin: 'https://api.test' },
    settings: { prices, profile: null },
  }
  return { connection: connection as never, blockchain, kind: 'nft', count }
}

test('counts each request at more than any of its transactions can use', () => {
  const ids = [9n]
  const one = [
    ...[mintGasLimit([{ receiver: '0x', count: 1 }], true, true), grantGasLimit(['0x']), BURN_GAS_LIMIT],
    ...[TRANSFER_GAS_LIMIT, updateGasLimit(ids), freezeGasLimit(ids), COMMIT_PROVENANCE_GAS_LIMIT],
  ]
  for (const limit of one) expect(WORST_NFT.gasLimit).toBeGreaterThan(limit)
})

test.each([
  ['a short name', 'Dawn', 0],
  ['the longest name', '🌅'.repeat(500), 500],
])('counts a collection with %s at the gas limit and the bytes of its transaction', async (_, name, royaltyBps) => {
  const fees = { low: 1n, typical: 1n, high: 1n, offered: OFFERED, data: { bytes: 1, fee: 1n, gas: 0n } }
  const collection = {
    ...{ id: 'c', name, symbol: symbolOf(name), wallet_address: WALLET, factory_address: WALLET },
    ...{ enable_api: 1, enable_transfer: 0, is_locked: 0, dynamic: 0, enable_burn: 0 },
    ...{ royalty_bps: royaltyBps, royalty_receiver: null },
  }
  const init = collectionInit(collection)
  const bytes = ENVELOPE_BYTES + size(encodeMake(init))
  // The fee for data is counted twice, as it may rise.
  const worst = makeGasLimit(init) * OFFERED + 2n * BigInt(bytes)
  expect(await worstCaseOf({ kind: 'collection', name, royaltyBps }, fees)).toBe(worst)
})

test('permits nothing on a public network without --allow-spending', async () => {
  const permit = new Ledger(null).permit(deps)
  for (const refused of [
    spending(1),
    spending(1, { loopback: true }),
    spending(1, {}, null),
    spending(1, {}, 'solana'),
  ]) {
    await expect(permit(refused)).rejects.toMatchObject({
      code: 'not_confirmed',
      hint: expect.stringContaining('--allow-spending'),
    })
  }
  await permit(spending(1000, { loopback: true, simulated: true }))
  await permit(spending(1000, {}, 'polygon-amoy'))
})

test('stops at the limit of the session, over all calls', async () => {
  const ledger = new Ledger(POL(PER_NFT * 10n))
  const permit = ledger.permit(deps)
  await permit(spending(4))
  await permit(spending(5))
  await expect(permit(spending(2))).rejects.toMatchObject({
    code: 'max_cost',
    message: 'this may cost 0.0004 POL, and 0.0002 POL of 0.002 POL are left',
  })
  await permit(spending(1))
  await expect(permit(spending(1))).rejects.toMatchObject({ code: 'max_cost' })
  await permit(spending(1000, { loopback: true, simulated: true }))
  expect(ledger.counted).toEqual(POL(PER_NFT * 10n))
})

test('stops at the limit if calls are made at the same time', async () => {
  const ledger = new Ledger(POL(PER_NFT * 10n))
  const calls = Array.from({ length: 30 }, () => ledger.permit(deps)(spending(1)))
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
})

test('counts a limit in money by a price in its currency, and by no other price', async () => {
  const server = await startHttpServer([{ json: { price: 3000 } }])
  onTestFinished(() => server.close())
  const prices = { price_url: server.url, price_path: 'price', price_currency: 'USD' }
  const limit = (currency: string) => ({ amount: 10n * PER_NFT * 3000n, currency })
  const yen = new Ledger(limit('JPY'))
  await expect(yen.permit(deps)(spending(1, { prices }))).rejects.toMatchObject({
    code: 'not_confirmed',
    message: expect.stringMatching(/the price of POL in JPY is not known/),
  })
  expect(yen.counted).toEqual({ amount: 0n, currency: 'JPY' })
  const dollars = new Ledger(limit('USD'))
  await dollars.permit(deps)(spending(9, { prices }))
  await expect(dollars.permit(deps)(spending(2, { prices }))).rejects.toMatchObject({ code: 'max_cost' })
  await dollars.permit(deps)(spending(1, { prices }))
  expect(dollars.counted).toEqual(limit('USD'))
})

test('refuses what it can not count', async () => {
  const permit = new Ledger(POL(ONE)).permit(deps)
  const cases = [
    [spending(1, { answers: false }), /the cost on polygon can't be estimated/],
    [spending(1, {}, null), /the cost on an unknown blockchain can't be estimated/],
    [spending(1, { currency: 'ETH' }, 'ethereum'), /the price of ETH in POL is not known/],
    [spending(1, { loopback: true, answers: false }), /can't be estimated/],
  ] as const
  for (const [uncounted, message] of cases) {
    await expect(permit(uncounted)).rejects.toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(message),
    })
  }
})
