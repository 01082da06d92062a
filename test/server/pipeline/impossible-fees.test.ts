import { serializeTransaction } from 'viem'
import { expect, it } from 'vitest'
import type { EvmReceipt, Hex } from '../../../src/server/chain/evm/network.ts'
import { transactionOutcome } from '../../../src/server/pipeline/evm/public-network/observe.ts'
import { WALLETS } from '../../helpers/backend.ts'

const [CONTRACT] = WALLETS
const HASH: Hex = `0x${'b'.repeat(64)}`
const [GAS, OFFERED] = [100_000n, 7n]
const signing = (fees: object) =>
  serializeTransaction({ type: 'eip1559', chainId: 137, to: CONTRACT as Hex, gas: GAS, ...fees })
const RAW = signing({ maxFeePerGas: OFFERED })

const feeOf = (receipt: Pick<EvmReceipt, 'gasUsed' | 'feePaid' | 'dataFee'>, raw = RAW) =>
  transactionOutcome({ transactionHash: HASH, blockNumber: 1n, blockHash: HASH, status: 'success', ...receipt }, raw)
    .seen.fee_paid

it.each([
  ['no gas', { gasUsed: 0n, feePaid: 0n }],
  ['less gas than any transaction', { gasUsed: 20_999n, feePaid: 20_999n }],
  ['more gas than the limit', { gasUsed: GAS + 1n, feePaid: GAS + 1n }],
  ['no price', { gasUsed: 50_000n, feePaid: 0n }],
  ['no price beside a fee for data', { gasUsed: 50_000n, feePaid: 5n, dataFee: 5n }],
  ['a higher price than the one offered', { gasUsed: 50_000n, feePaid: 50_000n * OFFERED + 1n }],
] as const)('a receipt with %s counts as one without a fee', (_, receipt) => {
  expect(feeOf(receipt)).toBeNull()
})

it('a receipt with a possible fee counts, with its fee for data', () => {
  expect(feeOf({ gasUsed: 21_000n, feePaid: 21_000n })).toBe('21000')
  expect(feeOf({ gasUsed: GAS, feePaid: GAS * OFFERED })).toBe('700000')
  expect(feeOf({ gasUsed: GAS, feePaid: GAS * OFFERED + 900n, dataFee: 900n })).toBe('700900')
  // Where gas is free.
  expect(feeOf({ gasUsed: GAS, feePaid: 0n }, signing({}))).toBe('0')
})
