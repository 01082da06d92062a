import { expect, test } from 'vitest'
import type { CallOptions } from '../../src/client/api-client.ts'
import { GdnError } from '../../src/core/errors.ts'
import { waitForCollection, waitForNfts, waitForTransaction } from '../../src/operations/waiting.ts'

const MS = 1000

/** A server whose clock is that of the client. Its records are final after `finalMs`. */
function world({
  waits = true,
  perSecond = null as number | null,
  holds = true,
  finalMs = 5.5 * MS,
  /** When the server is away. */
  away = [MS * 1000, MS * 1000] as readonly [from: number, to: number],
} = {}) {
  let time = 0
  /** The seconds for which each request may be held; null for none. */
  const requests: (number | null)[] = []
  const slept: number[] = []
  const record = () => {
    const status = time >= finalMs ? 'deployed' : 'initiated'
    return { status, nft_gdn_id: 'a', transaction_gdn_id: 'a', transaction_gdn_ids: 'a', contract_address: '0x1' }
  }
  const client = {
    supports: () => waits,
    observedRateLimit: () => ({ perSecond }),
    async call(_name: string, _request: object, { waitSeconds }: CallOptions) {
      requests.push(waitSeconds ?? null)
      if (time >= away[0] && time < away[1]) throw new GdnError('unreachable', 'nothing listens')
      if (holds && waitSeconds !== undefined) time = Math.max(time, Math.min(time + waitSeconds * MS, finalMs))
      return { nfts: [record()], transactions: [record()], collections: [record()] }
    },
  }
  const sleep = async (ms: number) => {
    if (ms > 0) slept.push(ms)
    time += ms
  }
  return {
    asked: requests,
    slept,
    deps: { client: client as never, signal: new AbortController().signal, sleep, now: () => time },
  }
}

test('a server that can hold requests is not polled', async () => {
  const { asked, slept, deps } = world()
  expect((await waitForNfts(deps, ['a'], { timeoutMs: 60 * MS })).pending).toEqual([])
  expect([asked, slept]).toEqual([[1, 2, 2, 2], []])
  const ofTransaction = world()
  await waitForTransaction(ofTransaction.deps, 'a', 60 * MS)
  expect([ofTransaction.asked, ofTransaction.slept]).toEqual([[1, 2, 2, 2], []])
  const ofCollection = world()
  await waitForCollection(ofCollection.deps, 'a', 60 * MS)
  expect([ofCollection.asked, ofCollection.slept]).toEqual([[1, 2, 2, 2], []])
})

test('another server is polled', async () => {
  const { asked, slept, deps } = world({ waits: false })
  await waitForNfts(deps, ['a'], { timeoutMs: 60 * MS })
  expect(asked).toEqual(Array(7).fill(null))
  expect(slept).toEqual([200, 400, 800, 1600, 2000, 2000])
})

test('a server that limits the rate holds only the first request, so that other commands get a slot', async () => {
  const { asked, slept, deps } = world({ perSecond: 2, finalMs: 2.5 * MS })
  await waitForNfts(deps, ['a'], { timeoutMs: 60 * MS })
  expect([asked, slept]).toEqual([
    [1, null, null, null, null],
    [400, 800, 1600],
  ])
})

test('a server that responds at once nevertheless is polled as any other', async () => {
  const { slept, deps } = world({ holds: false, finalMs: 3 * MS })
  await waitForNfts(deps, ['a'], { timeoutMs: 60 * MS })
  expect(slept).toEqual([200, 400, 800, 1600])
})

test('no request is held beyond the timeout', async () => {
  const { asked, slept, deps } = world({ finalMs: 60 * MS })
  const { problem } = await waitForNfts(deps, ['a'], { timeoutMs: 2.5 * MS })
  expect(problem).toMatchObject({ code: 'pending' })
  expect(asked.slice(0, 3)).toEqual([1, 1, null])
  expect(slept.reduce((sum, ms) => sum + ms, 0)).toBe(500)
})

test('a server that restarts is asked again, for half a minute after it was reached', async () => {
  const restarted = world({ away: [1 * MS, 20 * MS] })
  expect(await waitForNfts(restarted.deps, ['a'], { timeoutMs: 60 * MS })).toMatchObject({ pending: [], problem: null })
  const gone = world({ away: [1 * MS, 1000 * MS] })
  expect((await waitForNfts(gone.deps, ['a'], { timeoutMs: 60 * MS })).problem).toMatchObject({ code: 'unreachable' })
  expect(gone.deps.now()).toBeGreaterThan(30 * MS)
  expect(gone.deps.now()).toBeLessThan(35 * MS)
})

test('a server that was never reached is asked once', async () => {
  const { asked, deps } = world({ away: [0, 1000 * MS] })
  expect((await waitForNfts(deps, ['a'], { timeoutMs: 60 * MS })).problem).toMatchObject({ code: 'unreachable' })
  expect(asked).toHaveLength(1)
})
