import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { watchNetwork } from '../../../src/server/chain/rpc/watch-network.ts'
import { watchNetworks } from '../../../src/server/chain/rpc/watch-networks.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('reports a network that has never responded as unreachable after 1.5 s', async () => {
  const watch = watchNetwork(() => new Promise(() => {}))
  const seen = watch.seen()
  await vi.advanceTimersByTimeAsync(1_500)
  expect(await seen).toEqual({ reason: 'no node has responded yet', isSilent: true })
})

it('reports a network that has responded before as unreachable after 10 s of silence', async () => {
  let looks = 0
  const watch = watchNetwork(() => (looks++ === 0 ? Promise.resolve(null) : new Promise(() => {})))
  expect(await watch.seen()).toBe(null)
  watch.startCheck()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await watch.seen()).toBe(null)
  await vi.advanceTimersByTimeAsync(1)
  expect(await watch.seen()).toEqual({ reason: 'no node responds', isSilent: true })
})

it('reports a hanging network until it responds again, but not one that rejects requests at once', async () => {
  const answers: ((outcome: 'fine' | 'refused') => void)[] = []
  const watch = watchNetwork(
    () =>
      new Promise((resolve, reject) => {
        answers.push((outcome) => (outcome === 'fine' ? resolve(null) : reject(new Error('refused'))))
      }),
  )
  const hangsIn = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    return watch.isHanging()
  }
  watch.startCheck()
  expect([await hangsIn(10_000), await hangsIn(1)]).toEqual([false, true])
  answers[0]?.('refused')
  // One more request checks whether it has recovered; until it responds, it counts as hanging.
  expect([await hangsIn(3_000), answers.length]).toEqual([true, 1])
  expect([await hangsIn(1), answers.length]).toEqual([true, 2])
  answers[1]?.('fine')
  expect(await hangsIn(0)).toBe(false)
  watch.startCheck()
  answers[2]?.('refused')
  expect(await hangsIn(10_001)).toBe(false)
})

it('caches a result for 3 s, then checks again once for all callers', async () => {
  let looks = 0
  const watch = watchNetwork(async () => {
    looks += 1
    return looks === 1 ? 'no funds' : null
  })
  const first = await Promise.all([watch.seen(), watch.seen()])
  expect([looks, first]).toEqual([1, Array(2).fill({ reason: 'no funds', isSilent: false })])
  await vi.advanceTimersByTimeAsync(3_001)
  await Promise.all([watch.seen(), watch.seen()])
  expect([looks, await watch.seen()]).toEqual([2, null])
})

it('checks a healthy network every 15 s and a failing one every 3 s, until it is stopped', async () => {
  const looks = { fine: 0, poor: 0 }
  const watched = (blockchain: 'fine' | 'poor', problem: string | null) => ({
    blockchain,
    problem: () => problem,
    ask: async () => {
      looks[blockchain] += 1
      return problem
    },
  })
  const watch = watchNetworks([watched('fine', null), watched('poor', 'no funds')], SILENT_LOG)
  expect(await watch.unreachable()).toEqual([{ blockchain: 'poor', reason: 'no funds', isSilent: false }])
  await vi.advanceTimersByTimeAsync(30_000)
  expect(looks).toEqual({ fine: 3, poor: 11 })
  watch.stop()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(looks).toEqual({ fine: 3, poor: 11 })
})

it('logs that a network that does not respond cannot be used, and nothing of a check that ends after the stop', async () => {
  const lines: [string, object][] = []
  const log = { ...SILENT_LOG, warn: (facts: object, message: string) => void lines.push([message, facts]) }
  const failing = (blockchain: string) => ({
    blockchain,
    problem: () => null,
    ask: () => Promise.reject(new Error('no node responds')),
  })
  watchNetworks([failing('slow')], log).stop()
  const watch = watchNetworks([failing('base')], log)
  await vi.advanceTimersByTimeAsync(0)
  watch.stop()
  const reason = 'no node responds'
  expect(lines).toEqual([['the network is unavailable, and its work is delayed', { blockchain: 'base', reason }]])
})

it('logs a state once, however often it is checked and however its amounts change', async () => {
  const lines: [string, object][] = []
  const log = {
    ...SILENT_LOG,
    info: (facts: object, message: string) => void lines.push([message, facts]),
    warn: (facts: object, message: string) => void lines.push([message, facts]),
  }
  const reasons = [
    '0.5 POL is missing',
    '0.51 POL is missing',
    'no signer was authorized',
    null,
    null,
    '1 POL is missing',
  ]
  let looks = 0
  const ask = async () => reasons[Math.min(looks++, reasons.length - 1)] ?? null
  const watch = watchNetworks([{ blockchain: 'polygon', problem: () => 'any', ask }], log)
  await vi.advanceTimersByTimeAsync(30_000)
  watch.stop()
  expect(lines).toEqual([
    ['waiting', { blockchain: 'polygon', reason: '0.5 POL is missing' }],
    ['waiting', { blockchain: 'polygon', reason: 'no signer was authorized' }],
    ['the network is available again', { blockchain: 'polygon' }],
    ['waiting', { blockchain: 'polygon', reason: '1 POL is missing' }],
  ])
})
