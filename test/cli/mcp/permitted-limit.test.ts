import { expect, test } from 'vitest'
import type { PermitSpending, SpendingRun } from '../../../src/cli/deps.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { type Call, fakeApi, type Handler, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { cli } from '../harness.ts'

const SUPPORTS = { 'idempotency-supported': 'yes', 'run-max-cost-supported': 'yes' }
const LIMIT = 123n

/** Permits everything up to a limit, and records what it was asked. */
function permitting(limit: bigint | null = LIMIT) {
  const requests: (SpendingRun | null)[] = []
  const permit: PermitSpending = async (spending) => {
    if (spending.kind !== 'wallet') requests.push(spending.run)
    return limit
  }
  return { asked: requests, permit }
}

/** The run and the limit in the headers of each request to an endpoint. */
const limitsIn = (calls: readonly Call[], name: string) =>
  calls
    .filter(({ path }) => path.endsWith(`/${name}`))
    .map(({ headers }) => [headers['gdn-run'], headers['gdn-run-max-cost']])

const unknownRun = () => ({ status: 404, body: { error: { title: 'Not Found', message: 'no' } } })

const setrunmaxcost: Handler = (requests) => ({ headers: SUPPORTS, body: { requests, max_cost: '123' } })

const MINT = ['nft', 'mint', ...TARGET, '--receiver', OWNER, '--title', 'Dawn', '--no-wait', '--yes', '--json']

test.each([
  ['carries its permitted limit, with the operation as its run', LIMIT],
  ['names no run without a limit', null],
])('a single mint %s', async (_, limit) => {
  const { createnft } = service()
  const { url, calls } = await fakeApi({ createnft, '*': () => ({ headers: SUPPORTS, body: {} }) })
  const { asked, permit } = permitting(limit)
  const { options } = await folder({})
  expect((await cli([...MINT, '--base-url', url], { ...options, permit })).code).toBe(0)
  expect(asked).toEqual([{ id: expect.any(String), isOperation: true, canLimit: true, accepted: 0, maxCost: null }])
  expect(limitsIn(calls, 'createnft')).toEqual([limit === null ? [undefined, undefined] : [asked[0]?.id, '123']])
})

const fees = () => {
  const price = '1000000000'
  const gas_price = { low: price, typical: price, high: price, offered: price }
  const record = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1, fee: '0', gas: '0' } }
  return { headers: SUPPORTS, body: { requests: { blockchain: 'polygon' }, fees: record } }
}

test('each request of a drop carries the permitted limit, which never replaces one that a person has set', async () => {
  const { url, calls, bodies } = await fakeApi({
    ...{ ...service(), getfees: fees, getruncosts: unknownRun, setrunmaxcost },
    '*': () => ({ headers: SUPPORTS, body: {} }),
  })
  const { path, options } = await folder({ 'drop.csv': CSV })
  const { asked, permit } = permitting()
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--chunk-size', '1', '--no-lookup']
  const { code } = await cli([...argv, '--max-cost', '0.5', '--yes', '--json'], { ...options, permit })
  expect(code).toBe(0)
  const maxCost = { wei: 5n * 10n ** 17n, isSet: true }
  expect(asked).toEqual([{ id: expect.any(String), isOperation: false, canLimit: true, accepted: 0, maxCost }])
  expect(bodies('setrunmaxcost')).toMatchObject([{ run: asked[0]?.id, max_cost: '123' }])
  expect(limitsIn(calls, 'createnft')).toEqual(Array(2).fill([asked[0]?.id, '123']))
})

test('a drop that has only requests with an unknown outcome to repeat is permitted', async () => {
  const stop = new AbortController()
  const { createnft, getnfts } = service()
  const { url, calls, bodies } = await fakeApi({
    createnft(body) {
      if (stop.signal.aborted) return { headers: SUPPORTS, ...createnft(body) }
      stop.abort(new GdnError('interrupted', 'interrupted by this test'))
      return { status: 502, headers: SUPPORTS, body: {} }
    },
    getnfts,
    getnftgdnids: () => ({ headers: SUPPORTS, body: { requests: {}, nft_gdn_ids: [] } }),
    getruncosts: unknownRun,
    setrunmaxcost,
    '*': () => ({ headers: SUPPORTS, body: {} }),
  })
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${OWNER}\n` })
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--no-lookup', '--yes', '--json']
  const { signal } = stop
  expect((await cli(argv, { ...options, signal, permit: permitting().permit })).code).not.toBe(0)
  expect(limitsIn(calls, 'createnft')).toHaveLength(1)
  const { asked, permit } = permitting()
  expect((await cli(argv, { ...options, permit })).code).toBe(0)
  expect(asked).toHaveLength(1)
  expect(bodies('setrunmaxcost')).toMatchObject(Array(2).fill({ run: asked[0]?.id, max_cost: '123' }))
  expect(limitsIn(calls, 'createnft').slice(1)).toEqual([[asked[0]?.id, '123']])
})

test('a limit for rows that were accepted before is set only if it is permitted', async () => {
  const { createnft } = service()
  const { url, calls } = await fakeApi({ createnft, getfees: fees, '*': () => ({ headers: SUPPORTS, body: {} }) })
  const { path, options } = await folder({ 'drop.csv': CSV })
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--no-lookup', '--no-wait', '--yes']
  expect((await cli([...argv, '--json'], options)).code).toBe(0)
  const permit = async () => {
    throw new GdnError('max_cost', 'not permitted by this test')
  }
  const refused = await cli([...argv, '--max-cost', '9', '--json'], { ...options, permit })
  expect(refused.stderr).toContain('not permitted by this test')
  expect(calls.filter(({ path: name }) => name.endsWith('/setrunmaxcost'))).toEqual([])
})

/** A transfer of an NFT whose server limits costs, or not. */
async function transfer(flags: readonly string[], headers: Record<string, string>, limit: bigint | null) {
  const replies: Record<string, (body: never) => Reply> = {
    ...{ getfees: fees, getnfts: knows(nft('id-0')) },
    getruncosts: unknownRun,
    transfernft: (requests) => ({
      body: { requests, response: { transaction_gdn_id: 'tx', accepted_date: '2026-01-31 12:00:00' } },
    }),
  }
  const { url, calls } = await fakeApi({
    '*': (body: never, { path }) => ({ body: {}, ...replies[path.split('/').at(-1) ?? '']?.(body), headers }),
  })
  const { asked, permit } = permitting(limit)
  const { options } = await folder({})
  const argv = ['nft', 'transfer', 'id-0', ...TARGET, '--receiver', OTHER, '--sender', OWNER, '--token-id', '1']
  const result = await cli([...argv, ...flags, '--no-wait', '--yes', '--json', '--base-url', url], {
    ...options,
    permit,
  })
  return { ...result, asked, limits: limitsIn(calls, 'transfernft') }
}
const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'

test('a single command carries its --max-cost, which a permitted limit replaces', async () => {
  const own = await transfer(['--max-cost', '0.5'], SUPPORTS, null)
  expect([own.code, own.limits]).toEqual([0, [[own.asked[0]?.id, '500000000000000000;set']]])
  expect(own.asked).toMatchObject([
    { isOperation: true, canLimit: true, maxCost: { wei: 5n * 10n ** 17n, isSet: true } },
  ])
  const permitted = await transfer(['--max-cost', '0.5'], SUPPORTS, LIMIT)
  expect([permitted.code, permitted.limits]).toEqual([0, [[permitted.asked[0]?.id, '123']]])
  const without = await transfer([], SUPPORTS, null)
  expect([without.code, without.limits]).toEqual([0, [[undefined, undefined]]])
})

test('a single command with --max-cost sends nothing to a server that limits no costs', async () => {
  const { code, stderr, limits } = await transfer(['--max-cost', '0.5'], { 'idempotency-supported': 'yes' }, null)
  expect([code, limits]).toEqual([5, []])
  expect(stderr).toMatch(/--max-cost: http:[^ ]+ doesn't limit costs/)
})
