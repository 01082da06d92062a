import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSlowFacts } from '../../../src/server/explorer/slow-facts.ts'

/** Returns a function that resolves with the values in turn, each after `ms` milliseconds. */
function finder<Value>(values: readonly Value[], ms = 0) {
  const state = { asked: 0 }
  const find = async (): Promise<Value> => {
    const value = values[Math.min(state.asked++, values.length - 1)] as Value
    if (ms > 0) await sleep(ms)
    return value
  }
  return { state, find }
}

it('a value that is fast to compute is always current', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2, 3])
  expect(await facts.get('a', 'first', find)).toBe(1)
  expect(await facts.get('a', 'second', find)).toBe(2)
  expect(await facts.soon('a', 'third', find)).toBe(3)
  expect(await facts.get('a', 'third', find)).toBe(3)
  expect(state.asked).toBe(3)
  expect(facts.isDue()).toBe(false)
})

it('a slow value is cached for fifty times its computation time', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2], 60)
  expect(await facts.get('a', 'first', find)).toBe(1)
  for (let turn = 0; turn < 5; turn++) expect(await facts.get('a', 'second', find)).toBe(1)
  expect([state.asked, facts.isDue()]).toEqual([1, false])
})

it('isDue returns true once when a returned stale value may be computed again', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1, 2], 60)
  await facts.get('a', 'first', find)
  await facts.get('a', 'second', find)
  // Fifty times 60 ms, and longer on a busy machine.
  for (const end = Date.now() + 30_000; !facts.isDue() && Date.now() < end; ) await sleep(20)
  expect(facts.isDue()).toBe(false)
  const before = facts.found
  expect(await facts.get('a', 'second', find)).toBe(1)
  for (const end = Date.now() + 10_000; facts.found === before && Date.now() < end; ) await sleep(5)
  expect(await facts.get('a', 'second', find)).toBe(2)
})

it('a value that is computed again without a change does not count as found', async () => {
  const facts = createSlowFacts()
  const { find } = finder([{ count: 1 }, { count: 1 }, { count: 2 }])
  const news: number[] = []
  for (const of of ['first', 'second', 'third']) {
    await facts.get('a', of, find)
    news.push(facts.found)
  }
  expect(news).toEqual([0, 0, 1])
})

it('soon returns null for a slow value, which counts as found later', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1], 1300)
  expect(await facts.soon('a', 'first', find)).toBe(null)
  for (const end = Date.now() + 10_000; facts.found === 0 && Date.now() < end; ) await sleep(20)
  expect([facts.found, await facts.soon('a', 'first', find)]).toEqual([1, 1])
})

it('a value whose computation failed is computed again', async () => {
  const facts = createSlowFacts()
  const fail = () => Promise.reject(new Error('the database is away'))
  await expect(facts.get('a', 'first', fail)).rejects.toThrow('away')
  expect(await facts.get('a', 'first', async () => 1)).toBe(1)
})
