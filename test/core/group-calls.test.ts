import { describe, expect, it } from 'vitest'
import { groupCalls } from '../../src/core/group-calls.ts'

describe('groupCalls', () => {
  it('handles items that were added in one turn of the event loop as one group', async () => {
    const groups: (readonly number[])[] = []
    const add = groupCalls<number>(async (items) => void groups.push(items))
    await Promise.all([add(1), add(2), add(3)])
    await add(4)
    expect(groups).toEqual([[1, 2, 3], [4]])
  })

  it('gathers items while it handles a group, and never handles two groups at once', async () => {
    const groups: (readonly number[])[] = []
    const release: (() => void)[] = []
    const add = groupCalls<number>(async (items) => {
      groups.push(items)
      await new Promise<void>((resolve) => release.push(resolve))
    })
    const first = add(1)
    await expect.poll(() => groups.length).toBe(1)
    const second = [add(2), add(3)]
    await new Promise((resolve) => setImmediate(resolve))
    expect(groups).toEqual([[1]])
    release[0]?.()
    await first
    await expect.poll(() => groups.length).toBe(2)
    release[1]?.()
    await Promise.all(second)
    expect(groups).toEqual([[1], [2, 3]])
  })

  it('fails all items of a group that fails, and handles the next group', async () => {
    const add = groupCalls<string>(async (items) => {
      if (items.includes('bad')) throw new Error(`failed with ${items.length} items`)
    })
    const results = await Promise.allSettled([add('good'), add('bad')])
    expect(results).toMatchObject(Array.from({ length: 2 }, () => ({ reason: { message: 'failed with 2 items' } })))
    await expect(add('good')).resolves.toBeUndefined()
  })
})
