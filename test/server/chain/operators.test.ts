import { numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, expect, test } from 'vitest'
import { parsePendingCall } from '../../../src/server/chain/evm/cost/debt.ts'
import type { Signer } from '../../../src/server/chain/evm/evm-signer.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { watchOperators } from '../../../src/server/chain/evm/remote/operators.ts'

const ACCOUNT = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const FACTORY = '0x00000000000000000000000000000000000000f1'
const PRICE = 10n ** 9n
const FEES = { maxFeePerGas: PRICE, maxPriorityFeePerGas: PRICE }
/** What a transaction of the test can cost, in gas. */
const GAS = 5_000_000n
/** Enough for one of them and for the next. */
const BALANCE = 2n * GAS * PRICE

let first: Hex
let second: Hex

beforeAll(async () => {
  const sign = (nonce: number) =>
    ACCOUNT.signTransaction({ chainId: 137, nonce, gas: GAS, to: FACTORY, ...FEES, type: 'eip1559' })
  first = await sign(0)
  second = await sign(1)
})

/** Returns a signer whose transactions are mined when the test says so, and the operators that watch it. */
function watchOne() {
  const state = { pending: [first] as Hex[], nonce: 0, balance: BALANCE, afterNonce: () => {} }
  const operators = watchOperators({
    network: {
      blockchain: 'polygon',
      chainId: 137,
      async request<T>() {
        return numberToHex(1, { size: 32 }) as T
      },
      publicNetwork: {
        async nextNonce() {
          const { nonce } = state
          state.afterNonce()
          return nonce
        },
        balance: async () => state.balance,
      },
    } as unknown as Parameters<typeof watchOperators>[0]['network'],
    factory: async () => FACTORY,
    signers: [{ address: ACCOUNT.address } as Signer],
    readPendingCalls: async () => state.pending.map(parsePendingCall),
    listUnsignedMints: async () => [],
    fundsOf: async () => ({ nfts: 0, wei: 0n, reserve: 0n, held: 0 }),
    now: () => 0,
  })
  const free = async () => (await operators.listSigningOperators(FEES)).map(({ gas }) => gas)
  return { state, operators, free }
}

/** The backend has recorded that a block contains the first transaction. */
const forget = (state: { pending: Hex[] }) => {
  state.pending = state.pending.filter((raw) => raw !== first)
}

test('a transaction that is mined while its signer is checked keeps its cost reserved', async () => {
  const { state, free } = watchOne()
  state.afterNonce = () => forget(state)
  expect(await free()).toEqual([GAS])
})

test('a transaction that is mined after its signer was checked keeps its cost reserved until the next check', async () => {
  const { state, operators, free } = watchOne()
  await operators.readStates(FEES)
  forget(state)
  expect(await free()).toEqual([GAS])
})

test('a transaction that is signed after its signer was checked counts once', async () => {
  const { state, operators, free } = watchOne()
  await operators.readStates(FEES)
  state.pending.push(second)
  expect(await free()).toEqual([])
})

test('missing funds are something to wait for, not a failure', async () => {
  const { state, operators } = watchOne()
  state.pending = []
  state.balance = 0n
  await expect(operators.listSigningOperators(FEES)).rejects.toMatchObject({
    code: 'pending',
    message: expect.stringMatching(/^the signer 0x\w{40} has 0 POL on polygon and needs .*: send /),
  })
})
