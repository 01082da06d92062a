import { expect, test } from 'vitest'
import { findRetirement } from '../../src/api/retired.ts'
import { filterChoices, wrapErrors, wrapQuestion } from '../../src/cli/io/prompts.ts'
import { blockchainChoices } from '../../src/cli/prompt/ask-missing.ts'

const CHAINS = ['polygon', 'polygon-mumbai', 'astar', 'bnb-testnet', 'fantom-testnet'].map((name) => ({ name }))
const names = (typed: string) => filterChoices(CHAINS, typed).map(({ name }) => name)

test('narrows a list to entries with every typed word, in any case, prefix matches first', () => {
  expect(names('')).toHaveLength(CHAINS.length)
  expect(names('TESTNET fan')).toEqual(['fantom-testnet'])
  expect(names('a')).toEqual(['astar', 'polygon-mumbai', 'fantom-testnet'])
  expect(names('nothing')).toEqual([])
})

test('searches the descriptions of a list too', () => {
  expect(filterChoices([{ name: 'Low tide', description: '0xAbC on polygon' }], '0xabc')).toHaveLength(1)
})

test('wraps an error about an answer between words and indents it', async () => {
  const wrong = 'no wallet or address is named @alice here: gdn wallet list names those there are'
  expect(await wrapErrors(() => wrong, 40)('x')).toBe(
    'no wallet or address is named @alice\n  here: gdn wallet list names those\n  there are',
  )
  expect(await wrapErrors(() => true, 40)('x')).toBe(true)
})

test('wraps a question between words, with room for (y/N) and the answer in its last line', () => {
  const question = 'Burn token 1 of 0x5aAe…eAed for good, for at most 0.0372 POL?'
  expect(wrapQuestion(question, 72)).toBe('Burn token 1 of 0x5aAe…eAed for good, for at most 0.0372\n  POL?')
  expect(wrapQuestion(question, 73)).toBe(question)
  for (let columns = 24; columns < 90; columns++) {
    const lines = wrapQuestion(question, columns).split('\n  ')
    expect(lines.join(' ')).toBe(question)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns - 2)
    expect(`${lines.at(-1)} (y/N) Yes`.length).toBeLessThanOrEqual(columns - 2)
  }
})

test('a list of blockchains has no network that was shut down', () => {
  const names = blockchainChoices().map(({ value }) => value)
  expect(names).toEqual(expect.arrayContaining(['polygon', 'polygon-amoy', 'fantom', 'solana']))
  expect(names.filter((name) => findRetirement(name)?.stillRuns === false)).toEqual([])
})
