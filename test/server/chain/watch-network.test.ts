import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { watchNetwork } from '../../../src/server/chain/rpc/watch-network.ts'
import { watchNetworks } from '../../../src/server/chain/rpc/watch-networks.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('a network that never answered is away after a second and a half: others may be there', async () => {
  const watch = watchNetwork(() => new Promise(() => {}))
  const seen = watch.seen()
  await vi.advanceTimersByTimeAsync(1_500)
  expect(await seen).toEqual({ reason: 'no node has responded yet', silent: true })
})

it('one that answered once is away when it has been silent for ten seconds', async () => {
  let looks = 0
  const watch = watchNetwork(() => (looks++ === 0 ? Promise.resolve(null) : new Promise(() => {})))
  expect(await watch.seen()).toBe(null)
  watch.look()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await watch.seen()).toBe(null)
  await vi.advanceTimersByTimeAsync(1)
  expect(await watch.seen()).toEqual({ reason: 'no node responds', silent: true })
})

it('one that lets whoever asks wait is known to hang until it answers again; one that refuses at once does not hang', async () => {
  const answers: ((outcome: 'fine' | 'refused') => void)[] = []
  const watch = watchNetwork(
    () =>
      new Promise((resolve, reject) => {
        answers.push((outcome) => (outcome === 'fine' ? resolve(null) : reject(new Error('refused'))))
      }),
  )
  const hangsIn = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    return watch.hangs()
  }
  watch.look()
  expect([await hangsIn(10_000), await hangsIn(1)]).toEqual([false, true])
  answers[0]?.('refused')
  // It is asked once more, and may have become well; until it has said so it is not asked by others.
  expect([await hangsIn(3_000), answers.length]).toEqual([true, 1])
  expect([await hangsIn(1), answers.length]).toEqual([true, 2])
  answers[1]?.('fine')
  expect(await hangsIn(0)).toBe(false)
  watch.look()
  answers[2]?.('refused')
  expect(await hangsIn(10_001)).toBe(false)
})

it('what was seen counts for three seconds; then it is looked again, by one for all who ask', async () => {
  let looks = 0
  const watch = watchNetwork(async () => {
    looks += 1
    return looks === 1 ? 'no funds' : null
  })
  const first = await Promise.all([watch.seen(), watch.seen()])
  expect([looks, first]).toEqual([1, Array(2).fill({ reason: 'no funds', silent: false })])
  await vi.advanceTimersByTimeAsync(3_001)
  await Promise.all([watch.seen(), watch.seen()])
  expect([looks, await watch.seen()]).toEqual([2, null])
})

it('a network is looked at every 15 seconds, where something is in the way every 3; not any more once it is stopped', async () => {
  const looks = { fine: 0, poor: 0 }
  const watched = (blockchain: 'fine' | 'poor', problem: string | null) => ({
    blockchain,
    problem: () => problem,
    ask: async () => {
      looks[blockchain] += 1
      return problem
    },
  })
  const watch = watchNetworks([watched('fine', null), watched('poor', 'no funds')])
  expect(await watch.unreachable()).toEqual([{ blockchain: 'poor', reason: 'no funds', silent: false }])
  await vi.advanceTimersByTimeAsync(30_000)
  expect(looks).toEqual({ fine: 3, poor: 11 })
  watch.stop()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(looks).toEqual({ fine: 3, poor: 11 })
})
