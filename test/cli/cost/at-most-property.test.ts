import { expect, test } from 'vitest'
import { findMaximumCost } from '../../../src/cli/cost/at-most.ts'
import type { Connection, Deps } from '../../../src/cli/deps.ts'
import type { RunCosts } from '../../../src/client/run-costs.ts'
import { parseUnits } from '../../../src/core/units.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const STATES = process.env.GDN_SOAK === '1' ? 100_000 : 1_000

/** What a request was reserved for, and what it pays in the end. */
interface Reservation {
  worst: bigint
  actual: bigint
}

interface State {
  limit: bigint
  /** Paid by final transactions. */
  paid: bigint
  /** Paid by transactions that a reorg can still move to a dearer block. */
  unfinal: bigint
  reserved: readonly Reservation[]
  /** New requests that the prompt is about. */
  asked: readonly Reservation[]
  /** Gas price. */
  offered: bigint
}

function randomState(random: () => number): State {
  const below = (most: number) => BigInt(Math.floor(random() * most))
  const GAS = 100_000n
  const offered = 1n + below(100) * 10n ** (4n + below(6))
  const requests = (most: number) =>
    Array.from({ length: Math.floor(random() * most) }, () => {
      const worst = GAS * offered
      return { worst, actual: (worst * below(1001)) / 1000n }
    })
  const [reserved, asked] = [requests(30), [...requests(30), { worst: GAS * offered, actual: GAS * offered }]]
  const pending = reserved.reduce((sum, { worst }) => sum + worst, 0n)
  const paid = below(2) * below(1000) * GAS * 10n ** 7n
  const unfinal = reserved.reduce((sum, { actual }) => sum + below(2) * actual, 0n)
  // The backend accepts nothing that may exceed the limit.
  return { limit: paid + pending + below(50) * GAS * offered, paid, unfinal, reserved, asked, offered }
}

/**
 * Returns what the chain gets after the prompt: each reservation is released for what its transaction paid, and the
 * backend accepts each request whose worst case fits then.
 */
function paidAfterwards({ limit, paid, reserved, asked }: State): bigint {
  let after = 0n
  for (const { actual } of reserved) after += actual
  for (const { worst, actual } of asked) if (paid + after + worst <= limit) after += actual
  return after
}

/** A prompt, as a client of a backend with these figures shows it. */
async function prompt({ limit, paid, unfinal, reserved, asked, offered }: State): Promise<string> {
  const costs: RunCosts = {
    ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '0', max_fee: null, waiting: null },
    fee_paid: String(paid + unfinal),
    final_fee_paid: String(paid),
    max_cost: String(limit),
    counted: String(reserved.reduce((sum, { worst }) => sum + worst, paid)),
    pending_transactions: reserved.length,
  }
  const price = String(offered)
  const fees = {
    ...{ is_simulated: false, currency: 'POL', data: { bytes: 1, fee: '0', gas: '0' } },
    gas_price: { low: price, typical: price, high: price, offered: price },
  }
  const client = {
    call: async (name: string) => (name === 'getfees' ? { fees } : { costs }),
    hasNoValue: () => false,
  }
  const connection = { client, server: { isLoopback: true, origin: 'x' } } as unknown as Connection
  const signals = { signal: new AbortController().signal }
  const deps = { io: { note() {} }, signals } as unknown as Deps
  const gasLimit = 100_000n * BigInt(asked.length)
  const maxUse = async () => ({
    gasLimit,
    bytes: 0,
    estimate: {
      gas: gasLimit,
      bytes: 0,
      worst: { gasLimit, bytes: 0 },
      reserved: { nfts: 1, each: { gasLimit, bytes: 0 } },
    } as never,
  })
  return (await findMaximumCost(deps, connection, 'polygon', { limit: null, run: 'run', maxUse })).text
}

test('the amount in the prompt of a run is never below what the chain is paid afterwards under the limit', async () => {
  const { random, seed } = seededRandom('amounts in prompts')
  let reservedStates = 0
  for (let index = 0; index < STATES; index++) {
    const state = randomState(random)
    const text = await prompt(state)
    const isUsedUp = text === ', although the limit is used up'
    const amount = isUsedUp ? 0n : parseUnits(/^, for at most ([0-9.]+) POL/.exec(text)?.[1] ?? '')
    const after = paidAfterwards(state)
    expect(amount !== null && amount >= after, `GDN_SEED=${seed}, state ${index}: ${text} and then ${after}`).toBe(true)
    if (state.reserved.length === 0) continue
    reservedStates++
    expect(text).toContain(' including requests that are already accepted (')
  }
  report(`${reservedStates} of ${STATES} states had reservations`)
  expect(reservedStates).toBeGreaterThan(STATES / 2)
})

test('what was signed within a higher limit, or without one, is named beside the amount', async () => {
  const state: State = { limit: 10n ** 18n, paid: 0n, unfinal: 0n, reserved: [], asked: [], offered: 10n ** 9n }
  const worst = 2n * 10n ** 18n
  const reserved = [{ worst, actual: worst }]
  // What it may still pay is more than the limit, so that both numbers add up.
  expect(await prompt({ ...state, reserved })).toBe(
    ', for at most 2 POL including 1 signed transaction (the limit of 1 POL permits nothing more until it is final)',
  )
  const two = [...reserved, ...reserved]
  expect(await prompt({ ...state, paid: 10n ** 17n, reserved: two })).toBe(
    ', for at most 4 POL including 2 signed transactions (the limit of 1 POL permits nothing more until they are final)',
  )
  expect(await prompt({ ...state, limit: 3n * worst, reserved })).toContain(
    'including requests that are already accepted (',
  )
})

test('a limit that is used up is named instead of an amount of nothing', async () => {
  const used: State = { limit: 10n ** 18n, paid: 10n ** 18n, unfinal: 0n, reserved: [], asked: [], offered: 10n ** 9n }
  expect(await prompt(used)).toBe(', although the limit is used up')
})

test('a limit below what was paid is named, also while a reorg may still change what was paid', async () => {
  const lowered = { limit: 10n ** 17n, reserved: [], asked: [], offered: 10n ** 9n }
  const text = ', although the amount already spent (1 POL) exceeds the limit'
  expect(await prompt({ ...lowered, paid: 10n ** 18n, unfinal: 0n })).toBe(text)
  expect(await prompt({ ...lowered, paid: 0n, unfinal: 10n ** 18n })).toContain(text)
})
