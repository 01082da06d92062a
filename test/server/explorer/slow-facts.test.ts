import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSlowFacts } from '../../../src/server/explorer/slow-facts.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Lets time pass, and returns the result. */
async function after<Value>(ms: number, result: Promise<Value>): Promise<Value> {
  await vi.advanceTimersByTimeAsync(ms)
  return await result
}

/** Returns a function that resolves with the values in turn, each after `ms` milliseconds. */
function finder<Value>(values: readonly Value[], ms = 0) {
  const state = { asked: 0 }
  const find = async (): Promise<Value> => {
    const value = values[Math.min(state.asked++, values.length - 1)] as Value
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    return value
  }
  return { state, find }
}

it('a value that is fast to compute is always current', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2, 3])
  expect(await facts.get('a', 'first', find)).toBe(1)
  expect(await facts.get('a', 'second', find)).toBe(2)
  expect(await facts.getSoon('a', 'third', find)).toBe(3)
  expect(await facts.get('a', 'third', find)).toBe(3)
  expect(state.asked).toBe(3)
  expect(facts.isDue()).toBe(false)
})

it('a slow value is cached for fifty times its computation time', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2], 60)
  expect(await after(60, facts.get('a', 'first', find))).toBe(1)
  await vi.advanceTimersByTimeAsync(50 * 60 - 1)
  expect(await facts.get('a', 'second', find)).toBe(1)
  expect([state.asked, facts.isDue()]).toEqual([1, false])
})

it('isDue returns true once when a returned stale value may be computed again', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1, 2], 60)
  await after(60, facts.get('a', 'first', find))
  await facts.get('a', 'second', find)
  await vi.advanceTimersByTimeAsync(50 * 60)
  expect([facts.isDue(), facts.isDue()]).toEqual([true, false])
  expect(await facts.get('a', 'second', find)).toBe(1)
  await vi.advanceTimersByTimeAsync(60)
  expect(await facts.get('a', 'second', find)).toBe(2)
})

it('a value that is computed again without a change does not count as found', async () => {
  const facts = createSlowFacts()
  const { find } = finder([{ count: 1 }, { count: 1 }, { count: 2 }])
  const news: number[] = []
  for (const state of ['first', 'second', 'third']) {
    await facts.get('a', state, find)
    news.push(facts.updateCount)
  }
  expect(news).toEqual([0, 0, 1])
})

it('soon returns null for a slow value, which counts as found later', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1], 1300)
  expect(await after(1000, facts.getSoon('a', 'first', find))).toBe(null)
  await vi.advanceTimersByTimeAsync(300)
  expect([facts.updateCount, await facts.getSoon('a', 'first', find)]).toEqual([1, 1])
})

it('a value whose computation failed is computed again', async () => {
  const facts = createSlowFacts()
  const fail = () => Promise.reject(new Error('the database is away'))
  await expect(facts.get('a', 'first', fail)).rejects.toThrow('away')
  expect(await facts.get('a', 'first', async () => 1)).toBe(1)
})
