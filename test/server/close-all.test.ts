import { expect, it } from 'vitest'
import { closeAll } from '../../src/server/close-all.ts'

it('closes all in reverse order despite errors, and throws the first one', async () => {
  const closed: number[] = []
  const undo = [1, 2, 3, 4].map((number) => async () => {
    closed.push(number)
    if (number === 2 || number === 3) throw new Error(`no ${number}`)
  })
  await expect(closeAll(undo)).rejects.toThrow('no 3')
  expect(closed).toEqual([4, 3, 2, 1])
  await closeAll(undo)
  expect(closed).toHaveLength(4)
})
