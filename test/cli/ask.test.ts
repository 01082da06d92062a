import { expect, test } from 'vitest'
import { folded, narrowed } from '../../src/cli/io/prompts.ts'

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

test('what is wrong with an answer is broken between words, behind the mark that goes before it', async () => {
  const wrong = 'no wallet or address is named @alice here: gdn wallet list names those there are'
  expect(await folded(() => wrong, 40)('x')).toBe(
    'no wallet or address is named @alice\n  here: gdn wallet list names those\n  there are',
  )
  expect(await folded(() => true, 40)('x')).toBe(true)
})
