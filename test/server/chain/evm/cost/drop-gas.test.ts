import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeGrant, encodeMint, type ReceiverGroup } from '../../../../../src/server/chain/evm/collection.ts'
import { DropMeter, grantBytes, mintBytes, ONE_NFT_MAX_GAS } from '../../../../../src/server/chain/evm/cost/drop-gas.ts'
import { computeCost, computeMaxCost } from '../../../../../src/server/chain/evm/cost/network-fees.ts'
import { encodeMake } from '../../../../../src/server/chain/evm/factory.ts'
import { grantGasLimit, mintGasLimit } from '../../../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { anInit, type Chain, makeCollection, random, startChain } from '../contracts/fixture.ts'

let chain: Chain
beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const sizeOf = (data: Hex) => (data.length - 2) / 2
/** An estimate that a person pays by is within this part of the gas used. */
const WITHIN = 0.03

async function used(transaction: { from: Hex; to: Hex; data: Hex }): Promise<number> {
  const { status, gasUsed } = await chain.node.send({ ...transaction, gas: 15_000_000n })
  expect(status).toBe('success')
  return Number(gasUsed)
}
const fresh = (count: number, each = 1): ReceiverGroup[] =>
  Array.from({ length: count }, () => ({ receiver: random(20), count: each }))

describe('the estimated gas of a drop is within 3 % of the gas used', () => {
  test.each([
    ['of one NFT', [fresh(1)]],
    ['to one receiver', [fresh(1, 200), fresh(1, 40)]],
    ['to 230 receivers', [fresh(200), fresh(30)]],
    ['to 30 receivers of 7', [fresh(28, 7).concat({ receiver: random(20), count: 4 }), fresh(3, 7)]],
  ])('%s', async (_, batches) => {
    const meter = new DropMeter()
    const { address } = await makeCollection(chain)
    let startId = 1n
    let gas = 0
    for (const groups of batches) {
      for (const { receiver, count } of groups) meter.add(receiver, count)
      gas += await used({
        from: chain.operator,
        to: address,
        data: encodeMint({ startId, groups, digest: random(32) }),
      })
      startId += BigInt(groups.reduce((sum, { count }) => sum + count, 0))
    }
    const total = meter.total()
    expect(total.transactions).toBe(batches.length)
    expect(Math.abs(Number(total.gas) / gas - 1)).toBeLessThan(WITHIN)
    expect(Number(total.gasLimit)).toBeGreaterThan(gas)
  })

  test('the estimated gas of granted NFTs allows for fewer in a transaction', async () => {
    const meter = new DropMeter()
    const sender = random(20)
    const receivers = Array.from({ length: 170 }, () => random(20))
    for (const receiver of receivers) meter.add(receiver, 1, sender)
    const { address } = await makeCollection(chain, { enableTransfer: true })
    const grant = (startId: bigint, some: Hex[]) =>
      used({
        from: chain.operator,
        to: address,
        data: encodeGrant({ startId, sender, receivers: some, digest: random(32) }),
      })
    const gas = (await grant(1n, receivers.slice(0, 161))) + (await grant(162n, receivers.slice(161)))
    const total = meter.total()
    expect(total.transactions).toBe(2)
    expect(Math.abs(Number(total.gas) / gas - 1)).toBeLessThan(WITHIN)
  })

  test('the estimated gas of the deployment of a collection is within 5 %', async () => {
    const meter = new DropMeter()
    meter.addDeployment()
    const init = anInit(random(20), { requestId: random(32), name: 'Tide', symbol: 'TIDE' })
    const gas = await used({ from: chain.operator, to: chain.factory, data: encodeMake(init) })
    expect(Math.abs(Number(meter.total().gas) / gas - 1)).toBeLessThan(0.05)
  })
})

test('what a limit must leave is what the backend reserves: for each NFT the most that one of any request uses', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }), (counts) => {
      const meter = new DropMeter()
      for (const count of counts) meter.add(random(20), count)
      const each = counts.map((count) =>
        Math.ceil(Number(mintGasLimit([{ receiver: '0x', count }], true, false)) / count),
      )
      const { reserved, worst } = meter.total()
      expect(reserved.nfts).toBe(counts.reduce((sum, count) => sum + count, 0))
      expect(reserved.each.gasLimit).toBe(BigInt(Math.max(...each)))
      expect(reserved.each.gasLimit * BigInt(reserved.nfts)).toBeGreaterThanOrEqual(worst.gasLimit)
      expect(reserved.each.bytes * reserved.nfts).toBeGreaterThanOrEqual(worst.bytes)
    }),
  )
})

test('the bytes of a transaction are those of its call data and about a hundred more', () => {
  const digest = random(32)
  for (const count of [1, 2, 200]) {
    const groups = fresh(count)
    const receivers = groups.map(({ receiver }) => receiver)
    expect(mintBytes(count) - sizeOf(encodeMint({ startId: 1n, groups, digest }))).toBe(110)
    expect(grantBytes(count) - sizeOf(encodeGrant({ startId: 1n, sender: random(20), receivers, digest }))).toBe(110)
  }
  expect(ONE_NFT_MAX_GAS).toEqual({ gasLimit: 115_795n, bytes: mintBytes(1) })
})

// docs/drops.md gives these factors.
test.each([
  ['five times', 5, { sender: null, dynamic: false }],
  ['seven times, dynamic', 7, { sender: null, dynamic: true }],
  ['seven times, with a sender', 7, { sender: random(20), dynamic: false }],
])('the worst case of a drop is at most its estimate %s, and twenty times its fee for data', (_, factor, of) => {
  const prices = { low: 1n, typical: 1000n, high: 1n, offered: 2000n }
  const free = { ...prices, data: { bytes: 1, fee: 0n, gas: 0n } }
  const charged = { ...prices, data: { bytes: 1, fee: 10n ** 9n, gas: 0n } }
  for (const rows of [1, 20, 200, 1000]) {
    for (const each of [1, 5, 50].filter((count) => rows % count === 0)) {
      const meter = new DropMeter(of.dynamic)
      const requests = Array.from({ length: rows / each }, () => random(20))
      for (const receiver of requests) meter.add(receiver, each, of.sender)
      const one =
        of.sender === null
          ? { gasLimit: mintGasLimit([{ receiver: random(20), count: each }], true, of.dynamic), bytes: mintBytes(1) }
          : { gasLimit: grantGasLimit(Array(each).fill(random(20))), bytes: grantBytes(each) }
      const worst = (fees: typeof free) => computeMaxCost(one, fees) * BigInt(requests.length)
      const estimate = computeCost(meter.total(), charged)
      expect(worst(free)).toBeLessThanOrEqual((estimate.typical - estimate.dataFee) * BigInt(factor))
      expect(worst(charged) - worst(free)).toBeLessThanOrEqual(estimate.dataFee * 20n)
    }
  }
})
