/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { folder, TARGET } from '../batch/drop.ts'
import { fakeApi, type Handler, knows, nft, OWNER } from '../fake-api.ts'
import { cli } from '../harness.ts'

const LIVES = process.env.GDN_SOAK === '1' ? 300 : 3
const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const COIN = 10n ** 18n
const PRICE = '1000000000'

/** A server that accepts one transfer once, with the limit that it had then, and fails as the test wants. */
function limitingServer() {
  const server = {
    /** Ends a command before or after its request is accepted, or lets it succeed. */
    fault: null as 'before' | 'after' | null,
    onFault: () => {},
    isAccepted: false,
    /** Null while the run is unknown. */
    limit: null as bigint | null,
    /** The run and the limit of each request that arrived. */
    arrived: [] as { run: unknown; wei: bigint | null }[],
  }
  const gas_price = { low: PRICE, typical: PRICE, high: PRICE, offered: PRICE }
  const costs = () => ({
    ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '0', fee_paid: '0', max_fee: null },
    ...{ pending_transactions: 0, final_fee_paid: '0', max_cost: String(server.limit), counted: '1', waiting: null },
  })
  const fail = () => {
    server.onFault()
    return { status: 502, body: {} }
  }
  const handlers: Record<string, Handler> = {
    getnfts: knows(nft('id-0')),
    gettransactions: ((requests: object) => {
      const one = { transaction_gdn_id: 'tx', status: 'initiated', transaction_hash: null }
      return { body: { requests, transactions: server.isAccepted ? [one] : [] } }
    }) as Handler,
    getfees: () => ({
      body: {
        requests: { blockchain: 'polygon' },
        fees: { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1, fee: '0', gas: '0' } },
      },
    }),
    getruncosts: (({ run }: { run: string }) =>
      server.limit === null
        ? { status: 404, body: { error: { title: 'Not Found', message: 'no' } } }
        : { body: { requests: { run }, costs: costs() } }) as Handler,
    setrunmaxcost: ((body: { max_cost: string }) => {
      if (server.fault === 'before') return fail()
      server.limit = BigInt(body.max_cost)
      if (server.fault === 'after') return fail()
      return { body: { requests: body, max_cost: body.max_cost } }
    }) as Handler,
    transfernft: ((requests: object, { headers }: { headers: Record<string, unknown> }) => {
      const header = headers['gdn-run-max-cost']
      const wei = header === undefined ? null : BigInt(String(header).split(';', 1)[0] ?? '')
      server.arrived.push({ run: headers['gdn-run'], wei })
      if (server.fault === 'before') return fail()
      // A repetition gets the response to the first one, and changes nothing.
      if (!server.isAccepted) server.limit = wei
      server.isAccepted = true
      if (server.fault === 'after') return fail()
      return { body: { requests, response: { transaction_gdn_id: 'tx', accepted_date: '2026-01-31 12:00:00' } } }
    }) as Handler,
  }
  return { server, handlers }
}

type Server = ReturnType<typeof limitingServer>['server']
/** The limit in coins that a command states, or null; and where the server fails. */
type Command = readonly [coins: number | null, fault: Server['fault']]

/** Returns a function that starts with a new server, and runs commands for one operation on any of two machines. */
async function startLives() {
  let current = limitingServer()
  const { url } = await fakeApi({
    '*': (body, call) => ({
      body: {},
      ...current.handlers[call.path.split('/').at(-1) ?? '']?.(body, call),
      headers: { 'idempotency-supported': 'yes', 'run-max-cost-supported': 'yes' },
    }),
  })
  return async () => {
    current = limitingServer()
    const { server } = current
    const machines = [(await folder({})).options, (await folder({})).options] as const
    const operation = randomUUID()
    const transfer = async ([coins, fault]: Command, machine: 0 | 1 = 0) => {
      const stop = new AbortController()
      server.fault = fault
      server.onFault = () => stop.abort(new GdnError('interrupted', 'interrupted by this test'))
      const argv = ['nft', 'transfer', 'id-0', ...TARGET, '--receiver', OTHER, '--sender', OWNER, '--token-id', '1']
      const flags = ['--operation', operation, '--no-wait', '--yes', '--json', '--base-url', url]
      const limit = coins === null ? [] : ['--max-cost', String(coins)]
      const { code, stderr } = await cli([...argv, ...flags, ...limit], { ...machines[machine], signal: stop.signal })
      const isTooLate = stderr.includes('already accepted, without a limit')
      return { code, stderr, isTooLate, isStopped: stop.signal.aborted }
    }
    return { server, operation, transfer }
  }
}

const KNOWN: readonly (readonly Command[])[] = [
  [
    [3, 'after'],
    [1, 'after'],
    [null, null],
  ],
  [
    [3, 'after'],
    [1, 'before'],
    [null, null],
  ],
  [
    [3, null],
    [1, 'before'],
    [null, null],
  ],
  [
    [null, 'after'],
    [1, 'after'],
    [null, null],
    [null, null],
  ],
  [
    [1, 'after'],
    [3, 'after'],
    [null, null],
  ],
  // The previous limit again, after one that never reached the server.
  [
    [2, null],
    [1, 'before'],
    [2, null],
    [null, null],
  ],
]

test('an operation keeps the limit that a person stated last, after interruptions, losses and repetitions', async () => {
  const { random } = seededRandom('limits of operations')
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const draw = (): Command => [pick([null, null, 1, 2, 3]), pick(['before', 'after', null, null] as const)]
  const startLife = await startLives()
  let [commands, repeated] = [0, 0]
  for (let life = 0; life < KNOWN.length + LIVES; life++) {
    const { server, operation, transfer } = await startLife()
    let stated: bigint | null = null
    for (const command of KNOWN[life] ?? Array.from({ length: 5 }, draw)) {
      const wasAccepted = server.isAccepted
      const before = server.limit
      const sent = server.arrived.length
      const { code, stderr, isTooLate, isStopped } = await transfer(command)
      commands++
      const [coins] = command
      if (coins !== null) stated = BigInt(coins) * COIN
      const what = `life ${life}, command ${commands}: ${stderr}`
      for (const request of server.arrived.slice(sent)) {
        repeated += wasAccepted ? 1 : 0
        expect(request, what).toEqual({ run: stated === null ? undefined : operation, wei: stated })
      }
      if (isStopped) continue
      // Nothing can limit it any more, which the command says.
      const cannotLimit: boolean = wasAccepted && before === null && stated !== null
      expect([code, isTooLate], what).toEqual(cannotLimit ? [5, true] : [0, false])
      if (cannotLimit) stated = null
      // A limit that is kept only lowers it: a person may have set a lower one elsewhere.
      const keepsLower = coins === null && wasAccepted && before !== null && stated !== null && before < stated
      expect(server.limit, what).toBe(keepsLower ? before : stated)
    }
  }
  expect(repeated).toBeGreaterThan(0)
  report(`  ${commands} commands, ${repeated} requests that had been accepted before`)
})

describe('a limit stated on another machine, for an operation given by its ID', () => {
  test('replaces the limit of the first, and a repetition without one leaves it', async () => {
    const { server, transfer } = await (await startLives())()
    await transfer([3, null], 0)
    expect(await transfer([1, null], 1)).toMatchObject({ code: 0 })
    expect(server.limit).toBe(COIN)
    expect(await transfer([null, null], 0)).toMatchObject({ code: 0 })
    expect(server.limit).toBe(COIN)
  })

  test('is refused where the request was accepted without a limit', async () => {
    const { server, transfer } = await (await startLives())()
    await transfer([null, null], 0)
    expect(await transfer([1, null], 1)).toMatchObject({ code: 5, isTooLate: true })
    expect(server.limit).toBeNull()
  })
})
