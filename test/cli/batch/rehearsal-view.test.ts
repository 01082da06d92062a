import { expect, test } from 'vitest'
import { REHEARSAL_VIEW } from '../../../src/cli/batch/report/rehearsal-view.ts'
import { SETUP_VIEW } from '../../../src/cli/commands/chain/setup-view.ts'

const REPORT = {
  blockchain: 'base',
  contract_address: '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811',
  block: 1234,
  rows: 450,
  minted: 400,
  failed: 30,
  waiting: 20,
  transactions: 3,
  gas: 1_960_000,
  gas_price_wei: '6000000',
  cost_wei: '11760000000000',
  currency: 'ETH',
  seconds: 95,
  signers: [{ address: '0xS', balance_wei: '50000000000000000', spent_wei: '11760000000000' }],
  failures: [{ key: 'a', line: 7, error: 'the file is empty' }],
}

test('shows what a rehearsal did, spent and could not mint', () => {
  expect(REHEARSAL_VIEW.card?.(REPORT)).toEqual([
    ['contract_address', '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 on base, as of block 1234'],
    ['rows', '400 of 450 would be minted, 30 would fail, 20 would remain pending'],
    ['transactions', '3, 1,960,000 gas'],
    ['cost', '0.00001176 ETH at 0.006 gwei'],
    ['time', expect.stringMatching(/^about /)],
    ['signer', '0xS spends 0.00001176 ETH of 0.05 ETH'],
    ['line 7', 'the file is empty'],
    ['and', '29 more failed rows'],
  ])
})

test('counts rows that the backend accepted before apart from those that it would mint', () => {
  const again = { ...REPORT, minted: 0, failed: 0, waiting: 0, failures: [] }
  expect(REHEARSAL_VIEW.card?.(again)).toContainEqual(['rows', '0 of 450 would be minted, 450 already accepted'])
})

test('the setup of a network rounds what was paid to the nearest, and what can be paid up', () => {
  const record = {
    deployment_gas: 21000,
    gas: 80000,
    deployment_cost: '0.0012344000000001',
    cost: '0.0012344000000001',
  }
  const rows = SETUP_VIEW.card?.({ ...record, status: 'done', currency: 'ETH', to_appoint: ['0xA'] })
  expect(rows).toContainEqual(['deployment_cost', '0.001234 ETH for 21,000 gas'])
  expect(rows).toContainEqual(['appointment_cost', 'at most 0.001235 ETH for 80,000 gas'])
})
