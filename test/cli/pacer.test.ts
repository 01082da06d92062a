import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPacer } from '../../src/cli/pacer.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Sends `n` requests that each take `ms`; tells when each left. */
async function send(options: Parameters<typeof createPacer>[0], n: number, ms: number): Promise<number[]> {
  const pacer = createPacer(options)
  const start = performance.now()
  const left: number[] = []
  const all = Promise.all(
    Array.from({ length: n }, async (_, i) => {
      const { done } = await pacer.take('createnft')
      left[i] = performance.now() - start
      setTimeout(done, ms)
    }),
  )
  await vi.runAllTimersAsync()
  await all
  return left
}

describe('leave to send', () => {
  test('two at once, then each a second after an answer: a server that counts arrivals sees no third within a second', async () => {
    expect(await send({ rate: null, observed: () => null }, 5, 300)).toEqual([0, 0, 1300, 1300, 2600])
  })

  test('a rate of the user goes before what the server tells', async () => {
    expect(await send({ rate: 1, observed: () => ({ perSecond: 50 }) }, 3, 0)).toEqual([0, 1000, 2000])
  })

  test('a rate below one a second spreads out', async () => {
    expect(await send({ rate: 0.5, observed: () => null }, 3, 0)).toEqual([0, 2000, 4000])
  })

  test('a server that tells no limit has none', async () => {
    expect(await send({ rate: null, observed: () => ({ perSecond: null }) }, 4, 5000)).toEqual([0, 0, 0, 0])
  })

  test('a hold stops everything of that endpoint for so long', async () => {
    const pacer = createPacer({ rate: null, observed: () => null })
    pacer.hold('createnft', 4000)
    const start = performance.now()
    const taken = pacer.take('createnft').then(() => performance.now() - start)
    const other = pacer.take('getnfts').then(() => performance.now() - start)
    await vi.runAllTimersAsync()
    expect([await taken, await other]).toEqual([4000, 0])
  })

  test('who stops waiting is not given leave, and those behind go on', async () => {
    const pacer = createPacer({ rate: 1, observed: () => null })
    const first = await pacer.take('createnft')
    const stop = new AbortController()
    const second = pacer.take('createnft', stop.signal)
    const third = pacer.take('createnft')
    stop.abort(new Error('stopped'))
    await expect(second).rejects.toThrow('stopped')
    first.done()
    await vi.runAllTimersAsync()
    await expect(third).resolves.toBeDefined()
  })
})
