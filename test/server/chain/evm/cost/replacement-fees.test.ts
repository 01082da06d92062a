import { describe, expect, it } from 'vitest'
import { chooseFees, type FeeTerms } from '../../../../../src/server/chain/evm/cost/replacement-fees.ts'

const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({ maxFeePerGas, maxPriorityFeePerGas })

const TERMS: FeeTerms = {
  before: fees(800n, 8n),
  suggested: fees(500n, 5n),
  runLimit: null,
  cap: 10_000n,
  isRequested: false,
}

describe('the fees of a replacement', () => {
  it.each<[string, Partial<FeeTerms>, ReturnType<typeof chooseFees>]>([
    ['are an eighth above those before', {}, fees(900n, 9n)],
    ['are rounded up', { before: fees(801n, 1n) }, fees(902n, 5n)],
    ['are those of the network if they are higher', { suggested: fees(2000n, 20n) }, fees(2000n, 20n)],
    [
      'have a gas price if those before have',
      { before: { ...fees(800n, 800n), legacy: true } },
      { ...fees(900n, 900n), legacy: true },
    ],
    ['may reach the limit of the run', { runLimit: 900n }, fees(900n, 9n)],
    ['never exceed the limit of the run', { runLimit: 899n }, 'run_limit'],
    ['may reach the maximum of the caller', { maxFee: 900n }, fees(900n, 9n)],
    ['never exceed the maximum of the caller', { maxFee: 899n }, 'max_fee'],
    ['may reach the cap', { cap: 900n }, fees(900n, 9n)],
    ['never exceed the cap', { cap: 899n }, 'cap'],
    ['never exceed the cap if they are requested', { cap: 899n, isRequested: true }, 'cap'],
    ['may be four times the suggested ones', { suggested: fees(225n, 5n) }, fees(900n, 9n)],
    ['are not raised further above the suggested ones', { suggested: fees(224n, 5n) }, 'far_above'],
    ['may be far above if they are requested', { suggested: fees(224n, 5n), isRequested: true }, fees(900n, 9n)],
    ['report the limit of the run before others', { runLimit: 1n, maxFee: 1n, cap: 1n }, 'run_limit'],
  ])('%s', (_, terms, chosen) => {
    expect(chooseFees({ ...TERMS, ...terms })).toEqual(chosen)
  })
})
