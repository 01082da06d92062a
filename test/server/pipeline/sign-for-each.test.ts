import { expect, it } from 'vitest'
import { LostRaceError } from '../../../src/server/pipeline/driver.ts'
import { signForEach } from '../../../src/server/pipeline/sign-for-each.ts'

it.each<[string, boolean[], boolean]>([
  ['has more if one collection has', [false, true, false], true],
  ['has no more if none has', [false, false], false],
  ['has no more without collections', [], false],
])('%s', async (_, results, more) => {
  const ids = results.map((_, index) => String(index))
  expect(await signForEach(ids, async (id) => results[Number(id)] ?? false)).toBe(more)
})

it('has more after a lost race', async () => {
  expect(await signForEach(['a'], () => Promise.reject(new LostRaceError()))).toBe(true)
})

it('signs for all collections before it throws the first error', async () => {
  const seen: string[] = []
  const signFor = async (id: string) => {
    seen.push(id)
    if (id !== 'c') throw new Error(id)
    return true
  }
  await expect(signForEach(['a', 'b', 'c'], signFor)).rejects.toThrow('a')
  expect(seen).toEqual(['a', 'b', 'c'])
})
