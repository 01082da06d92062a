import { expect, test } from 'vitest'
import { narrowed } from '../../src/cli/ask.ts'

const CHAINS = ['polygon', 'polygon-mumbai', 'astar', 'bnb-testnet', 'fantom-testnet'].map((name) => ({ name }))
const names = (typed: string) => narrowed(CHAINS, typed).map(({ name }) => name)

test('typing narrows a list down to what holds every word, in any case; what begins so goes first', () => {
  expect(names('')).toHaveLength(CHAINS.length)
  expect(names('TESTNET fan')).toEqual(['fantom-testnet'])
  expect(names('a')).toEqual(['astar', 'polygon-mumbai', 'fantom-testnet'])
  expect(names('nothing')).toEqual([])
})

test('a list is searched by its descriptions too', () => {
  expect(narrowed([{ name: 'Low tide', description: '0xAbC on polygon' }], '0xabc')).toHaveLength(1)
})
