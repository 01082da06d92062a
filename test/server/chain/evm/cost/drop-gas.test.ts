import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeGrant, encodeMint, type MintRun } from '../../../../../src/server/chain/evm/collection.ts'
import { DropMeter, grantBytes, mintBytes, ONE_NFT } from '../../../../../src/server/chain/evm/cost/drop-gas.ts'
import { encodeMake } from '../../../../../src/server/chain/evm/factory.ts'
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
const fresh = (count: number, each = 1): MintRun[] =>
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
    for (const runs of batches) {
      for (const { receiver, count } of runs) meter.add(receiver, count)
      gas += await used({ from: chain.operator, to: address, data: encodeMint({ startId, runs, digest: random(32) }) })
      startId += BigInt(runs.reduce((sum, { count }) => sum + count, 0))
    }
    const total = meter.total()
    expect(total.transactions).toBe(batches.length)
    expect(Math.abs(Number(total.gas) / gas - 1)).toBeLessThan(WITHIN)
    expect(Number(total.gasLimit)).toBeGreaterThan(gas)
  })

  test('of granted NFTs, which are fewer in a transaction', async () => {
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

  test('of the deployment of a collection, within 5 %', async () => {
    const meter = new DropMeter()
    meter.addDeployment()
    const init = anInit(random(20), { requestId: random(32), name: 'Tide', symbol: 'TIDE' })
    const gas = await used({ from: chain.operator, to: chain.factory, data: encodeMake(init) })
    expect(Math.abs(Number(meter.total().gas) / gas - 1)).toBeLessThan(0.05)
  })
})

test('the bytes of a transaction are those of its call data and about a hundred more', () => {
  const digest = random(32)
  for (const count of [1, 2, 200]) {
    const runs = fresh(count)
    const receivers = runs.map(({ receiver }) => receiver)
    expect(mintBytes(count) - sizeOf(encodeMint({ startId: 1n, runs, digest }))).toBe(110)
    expect(grantBytes(count) - sizeOf(encodeGrant({ startId: 1n, sender: random(20), receivers, digest }))).toBe(110)
  }
  expect(ONE_NFT).toEqual({ gasLimit: 113_540n, bytes: mintBytes(1) })
})
