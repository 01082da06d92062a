import { expect, test } from 'vitest'
import { computeCost, computeMaxCost, readNetworkFees } from '../../../../../src/server/chain/evm/cost/network-fees.ts'
import { EMBEDDED_FEES } from '../../../../../src/server/chain/evm/evm-signer.ts'
import type { EvmNetwork, Hex, PublicNetwork } from '../../../../../src/server/chain/evm/network.ts'
import type { NetworkFees } from '../../../../../src/server/chain/fees.ts'
import { RpcError } from '../../../../../src/server/chain/rpc/rpc-response.ts'

const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`
const gwei = (value: number) => hex(Math.round(value * 1e9))
const word = (value: number | bigint) => value.toString(16).padStart(64, '0')

/** Fees of a transaction that is signed now. */
const SIGNED = { maxFeePerGas: 33_000_000_000n, maxPriorityFeePerGas: 3_000_000_000n }

type Answer = (params: readonly unknown[]) => unknown
/** A node that responds by method, and rejects the others. */
const nodeOf = (answers: Readonly<Record<string, Answer>>): Pick<EvmNetwork, 'request' | 'publicNetwork'> => ({
  publicNetwork: { suggestFees: async () => SIGNED } as PublicNetwork,
  async request<Result>(method: string, params: readonly unknown[]) {
    const answer = answers[method]
    if (answer === undefined) throw new RpcError(-32601, `no ${method} here`)
    return answer(params) as Result
  },
})

/** Ten blocks, whose base fees are 11 to 20 gwei; the next one's is 15. Half of them have no transactions. */
const HISTORY = {
  baseFeePerGas: [...Array.from({ length: 10 }, (_, index) => gwei(11 + index)), gwei(15)],
  reward: Array.from({ length: 10 }, (_, index) =>
    index % 2 === 0 ? ['0x0', '0x0', '0x0'] : [gwei(1), gwei(2), gwei(4 + index)],
  ),
}
const feeHistory = () => HISTORY
const nothing = () => '0x'
const oracleAt =
  (address: string, result: string): Answer =>
  ([call]) =>
    (call as { to: string }).to === address ? result : '0x'

test('the prices are those of recent blocks, without blocks that nobody paid for', async () => {
  const fees = await readNetworkFees(nodeOf({ eth_feeHistory: feeHistory, eth_call: nothing }))
  expect(fees).toEqual({
    low: 13_000_000_000n,
    typical: 17_000_000_000n,
    high: 28_000_000_000n,
    offered: SIGNED.maxFeePerGas,
    base: 15_000_000_000n,
    data: { bytes: fees.data.bytes, fee: 0n, gas: 0n },
  })
})

test('where recent blocks are empty, the prices have the priority fee that a transaction offers', async () => {
  const empty = { baseFeePerGas: Array(11).fill(gwei(15)), reward: Array(10).fill(['0x0', '0x0', '0x0']) }
  const fees = await readNetworkFees(nodeOf({ eth_feeHistory: () => empty, eth_call: nothing }))
  expect([fees.low, fees.typical, fees.high]).toEqual(Array(3).fill(18_000_000_000n))
  expect(fees.base).toBe(15_000_000_000n)
})

test('where recent blocks are empty, no price is above what a transaction offers', async () => {
  const empty = { baseFeePerGas: Array(11).fill(gwei(32)), reward: [] }
  const fees = await readNetworkFees(nodeOf({ eth_feeHistory: () => empty, eth_call: nothing }))
  expect([fees.low, fees.typical, fees.high]).toEqual(Array(3).fill(SIGNED.maxFeePerGas))
})

test('an embedded chain offers what its transactions are signed with', async () => {
  const { request } = nodeOf({ eth_feeHistory: feeHistory, eth_call: nothing })
  expect((await readNetworkFees({ request })).offered).toBe(EMBEDDED_FEES.maxFeePerGas)
})

test('a network without base fees has one price', async () => {
  const fees = await readNetworkFees(nodeOf({ eth_gasPrice: () => gwei(5) }))
  expect([fees.low, fees.typical, fees.high]).toEqual(Array(3).fill(5_000_000_000n))
  expect(fees.data).toMatchObject({ fee: 0n, gas: 0n })
})

test.each([
  ['OP stack', '0x420000000000000000000000000000000000000F'],
  ['Scroll', '0x5300000000000000000000000000000000000002'],
])('the oracle of %s tells the fee for the bytes of a transaction', async (_, oracle) => {
  const node = nodeOf({ eth_feeHistory: feeHistory, eth_call: oracleAt(oracle, `0x${word(6_734_000)}`) })
  const fees = await readNetworkFees(node)
  expect(fees.data).toEqual({ bytes: fees.data.bytes, fee: 6_734_000n, gas: 0n })
  const cost = computeCost({ gas: 1_000_000n, bytes: 2 * fees.data.bytes }, fees)
  expect(cost).toMatchObject({ gas: 1_000_000n, dataFee: 13_468_000n, typical: 17n * 10n ** 15n + 13_468_000n })
})

test('on Arbitrum, data costs gas', async () => {
  const answer = `0x${word(500_000)}${word(10)}${word(20)}`
  const node = nodeOf({
    eth_feeHistory: feeHistory,
    eth_call: oracleAt('0x00000000000000000000000000000000000000C8', answer),
  })
  const fees = await readNetworkFees(node)
  expect(fees.data).toMatchObject({ fee: 0n, gas: 500_000n })
  expect(computeCost({ gas: 1_000_000n, bytes: fees.data.bytes }, fees)).toMatchObject({
    gas: 1_500_000n,
    low: 1_500_000n * 13_000_000_000n,
  })
})

test('the worst case takes the gas limit, the highest offer, and twice the data', () => {
  const fees: Omit<NetworkFees, 'low' | 'typical' | 'high'> = {
    offered: 30n,
    data: { bytes: 1000, fee: 700n, gas: 10n },
  }
  expect(computeMaxCost({ gasLimit: 100n, bytes: 500 }, fees)).toBe((100n + 2n * 5n) * 30n + 2n * 350n)
  expect(computeMaxCost({ gasLimit: 100n, bytes: 1 }, fees)).toBe((100n + 2n) * 30n + 2n)
})

test.each<[string, unknown, unknown]>([
  ['lists are objects', { baseFeePerGas: { a: 1 }, reward: { a: 1 } }, nothing()],
  ['lists are text', { baseFeePerGas: '0x1234', reward: 'xyz' }, nothing()],
  ['blocks are missing', { ...HISTORY, reward: [null, '0x1', {}] }, nothing()],
  ['the fee for data has a megabyte', HISTORY, `0x${word(1).repeat(20_000)}`],
  ['the fee for data is no text', HISTORY, { toString: 1 }],
])('a node whose answers have another form still has prices: %s', async (_, history, called) => {
  const answers = { eth_feeHistory: () => history, eth_call: () => called, eth_gasPrice: () => gwei(5) }
  const fees = await readNetworkFees(nodeOf(answers))
  expect(fees.typical).toBeGreaterThan(0n)
  expect(fees.data).toMatchObject({ fee: 0n, gas: 0n })
})

test('an unreachable node is an error', async () => {
  const failing: Pick<EvmNetwork, 'request'> = { request: () => Promise.reject(new Error('no node responds')) }
  await expect(readNetworkFees(failing)).rejects.toThrow('no node responds')
})

test.each([
  ['the base fees', { eth_feeHistory: () => ({ ...HISTORY, baseFeePerGas: [gwei(1), hex(2n ** 256n - 1n)] }) }],
  ['the priority fees', { eth_feeHistory: () => ({ ...HISTORY, reward: [[gwei(1), gwei(2), hex(10n ** 27n)]] }) }],
  ['the gas price', { eth_gasPrice: () => hex(10n ** 27n) }],
  [
    'the fee for data',
    {
      eth_feeHistory: feeHistory,
      eth_call: oracleAt('0x420000000000000000000000000000000000000F', `0x${'f'.repeat(64)}`),
    },
  ],
])('treats fees as unknown where %s are impossible', async (_, answers) => {
  await expect(readNetworkFees(nodeOf({ eth_call: nothing, ...answers }))).rejects.toMatchObject({
    ...{ code: 'unreachable', message: 'a node returned an impossible fee' },
  })
})
