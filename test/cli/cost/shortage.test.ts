import { expect, test } from 'vitest'
import { stuckReason } from '../../../src/api/stuck-reason.ts'
import {
  describeRunShortage,
  findMaximumCost,
  noteCost,
  printNotes,
  sufficientLimit,
} from '../../../src/cli/cost/at-most.ts'
import { refuseAboveLimit, reservedForChanges } from '../../../src/cli/cost/run-limit.ts'
import type { Connection, Deps } from '../../../src/cli/deps.ts'
import { parseUnits } from '../../../src/core/units.ts'
import { GWEI } from '../../helpers/gwei.ts'

const SIGNER = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
/** In wei, at 1 gwei. */
const RESERVE = 3_000_000n * GWEI
const REQUEST = 200_000n

/** What a command on a server with these fees and costs has. */
function on(fees: object, costs: object = {}) {
  const price = String(GWEI)
  const answers: Record<string, object> = {
    getfees: {
      fees: {
        ...{ is_simulated: false, currency: 'ETH', data: { bytes: 1, fee: '0', gas: '0' } },
        gas_price: { low: price, typical: price, high: price, offered: price },
        ...fees,
      },
    },
    getruncosts: {
      costs: {
        ...{ blockchain: 'base', is_simulated: false, currency: 'ETH', gas_used: '0', fee_paid: '0' },
        ...{ final_fee_paid: '0', max_cost: null, counted: null, max_fee: null, waiting: null },
        ...{ pending_transactions: 0, ...costs },
      },
    },
  }
  const client = {
    call: async (name: string) => answers[name],
    supports: () => true,
    hasNoValue: () => false,
    learnCapabilities: async () => {},
  }
  const notes: string[] = []
  return {
    notes,
    connection: { client, server: { isLoopback: true, origin: 'x' } } as unknown as Connection,
    deps: {
      io: { note: (text: string) => notes.push(text) },
      signals: { signal: new AbortController().signal },
    } as unknown as Deps,
  }
}

/** What a server reserves for one NFT that uses as much. */
const nftsOf = (each: { gasLimit: bigint; bytes: number }) => ({ nfts: 1, each })

/** Prints the notes of a prompt. */
const printedBeforePrompt: typeof noteCost = async (deps, ...priced) =>
  printNotes(deps, (await findMaximumCost(deps, ...priced)).notes)

const STUCK = stuckReason({ hash: `0x${'a'.repeat(64)}`, offeredWei: 1n, neededWei: 2n, flags: '--max-cost 0.5' })
const LOWER_FEES = 'waiting for lower fees: blocks require at least 9 gwei'

test.each([
  ['has no limit', {}, /needs 0\.0036: send 0\.0033 ETH, which covers 4 unsent rows at the current fees$/],
  [
    'has a limit that pays for a part of its rows',
    { max_cost: String(2n * REQUEST * GWEI), counted: '0' },
    /needs 0\.0034: send 0\.0031 ETH, .*, up to the run's cost limit \(0\.0004 ETH left\)$/,
  ],
  [
    'has a limit that is too low for its next row',
    { max_cost: '100000000000000', counted: '0' },
    /^waiting for lower fees: the next row may cost 0\.0002 ETH at the current fees, but only 0\.0001 ETH of the run's limit is left; repeat the run's command with --max-cost 0\.0008 or more to raise the limit$/,
  ],
  [
    'has a limit that signed transactions use up until they are final',
    { max_cost: '800000000000000', counted: '800000000000000', pending_transactions: 1 },
    /^waiting until earlier transactions are final: the next row may cost 0\.0002 ETH at the current fees, but only 0 ETH of the run's limit is left in addition to the reserved amount; repeat the run's command with --max-cost 0\.0016 or more to raise the limit$/,
  ],
  ['has a signed transaction that its limit holds', { waiting: STUCK }, new RegExp(`^${STUCK}$`)],
  [
    'has a maximum fee that is too low for the next blocks',
    { max_fee: String(GWEI / 2n) },
    /^waiting for lower fees: the next blocks need up to 1\.125 gwei, but the run offers at most 0\.5 gwei; .* --max-fee-gwei 1\.501 /,
  ],
  ['waits for lower fees already', { waiting: LOWER_FEES }, new RegExp(`^${LOWER_FEES}$`)],
])('a run that %s says what helps while the signer lacks funds', async (_, costs, text) => {
  const balance = String(300_000n * GWEI)
  const shortage = { signer: SIGNER, balance, needed: String(RESERVE), reserve: String(RESERVE), waiting_nfts: 0 }
  const { deps, connection } = on({ shortage }, costs)
  const maxUse = { gasLimit: 4n * REQUEST, bytes: 0 }
  const unsent = async () => ({ rows: 4, maxUse, smallestMint: REQUEST })
  expect(await describeRunShortage(deps, connection, { blockchain: 'base', run: 'run', unsent })).toMatch(text)
})

test.each([
  ['the balance is enough', 3_600_000n, 0n, null, []],
  [
    'it is not',
    3_300_000n,
    0n,
    null,
    [/has 0\.0033 ETH, but the command may need 0\.0036 ETH \(see `to fund` in gdn cost\)\.$/],
  ],
  ['pending transactions use it', 3_600_000n, 1n, null, [/0\.003599 ETH left after its pending trans.* 0\.0036 ETH/]],
  ['the limit permits less', 3_300_000n, 0n, 300_000n * GWEI, []],
] as const)(
  'before a prompt, and with --yes, a note says whether the signer has what a run may need: %s',
  async (...row) => {
    const [, gas, owed, limit, expected] = row
    const { deps, connection, notes } = on({
      funds: { signer: SIGNER, balance: String(gas * GWEI), owed: String(owed * GWEI) },
    })
    const use = { gasLimit: 4n * REQUEST, bytes: 0 }
    const estimate = { gas: 0n, bytes: 0, worst: { ...use, smallestMint: REQUEST }, reserved: nftsOf(use) }
    const maxUse = async () => ({ ...use, estimate: estimate as never })
    await printedBeforePrompt(deps, connection, 'base', { limit, run: 'run', maxUse })
    const found = notes.filter((note) => note.startsWith('The signer'))
    expect(found).toEqual(expected.map((text) => expect.stringMatching(text)))
    notes.length = 0
    await noteCost(deps, connection, 'base', { limit, run: 'run', maxUse })
    // With --yes and no limit, it is the only note.
    expect(limit === null ? notes : found).toEqual(found)
  },
)

test.each([
  ['waiting for finality, 12 blocks left', /More may become available later: waiting for finality, 12 blocks left\./],
  ['the signer 0x12 has 0 ETH on base and needs 0.003: send 0.003 ETH', /^(?!.*More may become available)/],
])(
  'requests above a limit are refused with what leaves more of it, and with no other reason: %s',
  async (waiting, hint) => {
    const { deps, connection } = on({}, { max_cost: '1', counted: '0', waiting })
    const reserved = async () => reservedForChanges({ gasLimit: REQUEST, bytes: 0 })
    const requests = { blockchain: 'base', run: 'run', commandLimit: null, storedLimit: null, reserved } as const
    await expect(refuseAboveLimit(deps, connection, requests)).rejects.toMatchObject({
      code: 'max_cost',
      hint: expect.stringMatching(hint),
    })
  },
)

test.each([
  ['1.2', []],
  [
    '0.5',
    [
      'Blocks currently require 1 gwei, but the run pays at most 0.5 gwei, so rows may wait for lower fees. --max-fee-gwei 1.501 is enough at the current fees.',
    ],
  ],
])('before a prompt, and with --yes, a note names the maximum fee that is enough: %s gwei', async (gwei, expected) => {
  const { deps, connection, notes } = on({})
  const maxUse = async () => ({ gasLimit: REQUEST, bytes: 0 })
  const requests = { limit: null, maxFee: parseUnits(gwei, 9), run: 'run', maxUse }
  for (const printNote of [printedBeforePrompt, noteCost]) {
    notes.length = 0
    await printNote(deps, connection, 'base', requests)
    expect(notes.filter((note) => note.includes('--max-fee-gwei'))).toEqual(expected)
  }
})

test('accepted rows, which the limit of their run counts already, are not counted again in the limit that is enough', async () => {
  const costs = { max_cost: String(GWEI), counted: String(800_000n * GWEI), pending_transactions: 1 }
  const { deps, connection, notes } = on({}, costs)
  const estimate = { gas: 0n, bytes: 0 }
  const noted = async (limit: bigint, rows: bigint) => {
    notes.length = 0
    const use = { gasLimit: rows * REQUEST, bytes: 0 }
    const maxUse = async () => ({ ...use, estimate: { ...estimate, worst: use, reserved: nftsOf(use) } as never })
    const accepted = { gasLimit: 12n * REQUEST, bytes: 0 }
    await printedBeforePrompt(deps, connection, 'base', { limit, run: 'run', maxUse, accepted })
    return notes.filter((note) => note.includes('--max-cost'))
  }
  expect(await noted(800_000n * GWEI, 0n)).toEqual([])
  expect(await noted(800_000n * GWEI, 1n)).toEqual([expect.stringContaining('use --max-cost 0.001.')])
  expect(await noted(1_000_000n * GWEI, 1n)).toEqual([])
})

test.each([
  ['is high enough', 2n * GWEI, '0.0014'],
  ['is so low that a hint names a higher one', GWEI / 2n, '0.002'],
])(
  'the limit that is enough for the rest of a run is computed at the maximum fee that it then has, which %s',
  async (_, maxFee, enough) => {
    const { deps, connection } = on({}, { max_fee: String(maxFee), fee_paid: '0', counted: String(600_000n * GWEI) })
    const reserved = async () => reservedForChanges({ gasLimit: 4n * REQUEST, bytes: 0 })
    expect(await sufficientLimit(deps, connection, { blockchain: 'base', run: 'run', reserved })).toBe(enough)
  },
)

test('the limit that a note calls enough counts accepted rows at the maximum fee that the command sets', async () => {
  const costs = { max_cost: String(GWEI), counted: String(600_000n * GWEI), max_fee: String(GWEI / 2n) }
  const { deps, connection, notes } = on({}, costs)
  const use = { gasLimit: REQUEST, bytes: 0 }
  const estimate = { gas: 0n, bytes: 0, worst: use, reserved: nftsOf(use) }
  const maxUse = async () => ({ ...use, estimate: estimate as never })
  await printedBeforePrompt(deps, connection, 'base', { limit: 700_000n * GWEI, maxFee: 2n * GWEI, run: 'run', maxUse })
  expect(notes).toContainEqual(expect.stringContaining('--max-cost 0.0014.'))
})

test('no note calls a limit enough that is below the limit of a run with a maximum fee', async () => {
  const { deps, connection, notes } = on({}, { max_fee: String(GWEI / 2n), max_cost: String(GWEI), counted: '0' })
  const use = { gasLimit: 4n * REQUEST, bytes: 0 }
  const maxUse = async () => ({
    ...use,
    estimate: { gas: use.gasLimit, bytes: 0, worst: use, reserved: nftsOf(use) } as never,
  })
  await printedBeforePrompt(deps, connection, 'base', { limit: 500_000n * GWEI, run: 'run', maxUse })
  expect(notes.filter((note) => note.includes('--max-cost'))).toEqual([])
})

test('a note before a single request names the balance with which a backend signs it, and no more', async () => {
  const noted = async (balance: bigint) => {
    const { deps, connection, notes } = on({ funds: { signer: SIGNER, balance: String(balance), owed: '0' } })
    const priced = { limit: null, maxUse: async () => ({ gasLimit: REQUEST, bytes: 0 }) }
    await noteCost(deps, connection, 'base', priced)
    await printedBeforePrompt(deps, connection, 'base', priced)
    return notes.filter((note) => note.startsWith('The signer'))
  }
  expect(await noted(RESERVE)).toEqual([])
  const lack = expect.stringContaining('but the command may need 0.003 ETH')
  expect(await noted(RESERVE - 1n)).toEqual([lack, lack])
})
