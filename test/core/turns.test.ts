import { expect, test } from 'vitest'
import { ownTurn } from '../../src/core/turns.ts'

test('a turn of the event loop lets one caller continue, and other work runs in between', async () => {
  const order: string[] = []
  const other = () => {
    order.push('other')
    if (order.length < 6) setImmediate(other)
  }
  const work = ['a', 'b', 'c'].map((name) => ownTurn().then(() => order.push(name)))
  setImmediate(other)
  await Promise.all(work)
  expect(order).toEqual(['a', 'other', 'b', 'other', 'c'])
})

test('a caller that comes back waits behind those that came before', async () => {
  const order: string[] = []
  const work = async (name: string) => {
    for (let piece = 1; piece <= 2; piece++) {
      await ownTurn()
      order.push(name + piece)
    }
  }
  await Promise.all([work('a'), work('b')])
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2'])
})
