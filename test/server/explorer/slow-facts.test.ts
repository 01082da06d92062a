import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSlowFacts } from '../../../src/server/explorer/slow-facts.ts'

/** Finds one after the other, each after so many milliseconds. */
function finder<Value>(values: readonly Value[], ms = 0) {
  const state = { asked: 0 }
  const find = async (): Promise<Value> => {
    const value = values[Math.min(state.asked++, values.length - 1)] as Value
    if (ms > 0) await sleep(ms)
    return value
  }
  return { state, find }
}

it('what is quick to find is never told as it was before', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2, 3])
  expect(await facts.get('a', 'first', find)).toBe(1)
  expect(await facts.get('a', 'second', find)).toBe(2)
  expect(await facts.soon('a', 'third', find)).toBe(3)
  expect(await facts.get('a', 'third', find)).toBe(3)
  expect(state.asked).toBe(3)
  expect(facts.isDue()).toBe(false)
})

it('what takes long is told as it was, and found anew after fifty times as long', async () => {
  const facts = createSlowFacts()
  const { state, find } = finder([1, 2], 60)
  expect(await facts.get('a', 'first', find)).toBe(1)
  for (let turn = 0; turn < 5; turn++) expect(await facts.get('a', 'second', find)).toBe(1)
  expect([state.asked, facts.isDue()]).toEqual([1, false])
})

it('who was told what is no longer so hears when it may be asked for again, once', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1, 2], 60)
  await facts.get('a', 'first', find)
  await facts.get('a', 'second', find)
  // Fifty times 60 ms, and somewhat more where the machine is busy.
  for (const end = Date.now() + 30_000; !facts.isDue() && Date.now() < end; ) await sleep(20)
  expect(facts.isDue()).toBe(false)
  const before = facts.found
  expect(await facts.get('a', 'second', find)).toBe(1)
  for (const end = Date.now() + 10_000; facts.found === before && Date.now() < end; ) await sleep(5)
  expect(await facts.get('a', 'second', find)).toBe(2)
})

it('what is found to be as it was is no news', async () => {
  const facts = createSlowFacts()
  const { find } = finder([{ count: 1 }, { count: 1 }, { count: 2 }])
  const news: number[] = []
  for (const of of ['first', 'second', 'third']) {
    await facts.get('a', of, find)
    news.push(facts.found)
  }
  expect(news).toEqual([0, 0, 1])
})

it('nobody waits long for what takes long, and who did not hears that it was found', async () => {
  const facts = createSlowFacts()
  const { find } = finder([1], 1300)
  expect(await facts.soon('a', 'first', find)).toBe(null)
  for (const end = Date.now() + 10_000; facts.found === 0 && Date.now() < end; ) await sleep(20)
  expect([facts.found, await facts.soon('a', 'first', find)]).toEqual([1, 1])
})

it('what could not be found is asked for again', async () => {
  const facts = createSlowFacts()
  const fail = () => Promise.reject(new Error('the database is away'))
  await expect(facts.get('a', 'first', fail)).rejects.toThrow('away')
  expect(await facts.get('a', 'first', async () => 1)).toBe(1)
})
