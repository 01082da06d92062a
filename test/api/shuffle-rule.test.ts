import { expect, test } from 'vitest'
import { QUICKNET } from '../../src/api/beacon.ts'
import { computeSeal } from '../../src/api/provenance-seal.ts'
import { computeRoundTime, findRound, formatRuleLine, parseRule } from '../../src/api/shuffle-rule.ts'
import { Commitment, parseLeaves, readLeaf } from '../../src/reveal/leaves.ts'

const rule = { marginSeconds: 1_800 }
const contents = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)])

test('a leaves file begins with the rule, and row 1 is its second line', () => {
  const [plain, shuffled] = [new Commitment(contents), new Commitment(contents, rule)]
  expect(shuffled.leaves.toString()).toBe(`shuffle drand-quicknet-v1 1800\n${plain.leaves}`)
  expect(parseRule(shuffled.leaves)).toEqual(rule)
  expect(parseRule(plain.leaves)).toBeNull()
  expect(parseLeaves(shuffled.leaves)).toEqual(parseLeaves(plain.leaves))
  expect(readLeaf(shuffled.leaves, 2)).toBe(readLeaf(plain.leaves, 2))
  expect(readLeaf(shuffled.leaves, 3)).toBeNull()
  expect(shuffled.provenance).not.toBe(plain.provenance)
  expect(shuffled.compareWithLeaves(shuffled.leaves, shuffled.seed)).toEqual({ changed: [], added: [], removed: [] })
  expect(shuffled.saltOf(1)).toEqual(plain.saltOf(1))
})

test.each([
  'shuffle drand-quicknet-v2 1800\n',
  'shuffle drand-quicknet-v1 1800',
  'shuffle drand-quicknet-v1 1800\r\n',
  'shuffle drand-quicknet-v1 0\n',
  'shuffle drand-quicknet-v1 01800\n',
  'shuffle drand-quicknet-v1 1e3\n',
  'shuffle drand-quicknet-v1 18000000\n',
  'shuffle drand-quicknet-v1  1800\n',
  'shuffle drand-quicknet-v1 1800 \n',
  `shuffle ${'x'.repeat(1_000_000)}\n`,
  'shuffle \n',
])('refuses a leaves file that begins with %j, instead of taking its rows for unshuffled', (line) => {
  expect(() => parseRule(Buffer.from(line))).toThrow('a shuffle rule that this version does not support')
  expect(() => parseLeaves(Buffer.from(line))).toThrow('a shuffle rule that this version does not support')
})

test('writes only margins that it reads', () => {
  expect(parseRule(Buffer.from(formatRuleLine({ marginSeconds: 1 })))).toEqual({ marginSeconds: 1 })
  for (const marginSeconds of [0, -1, 1.5, Number.NaN, 1e21]) expect(() => formatRuleLine({ marginSeconds })).toThrow()
})

test('the seal follows from the provenance hash', () => {
  expect(computeSeal(`0x${'ab'.repeat(32)}`)).toBe('0x43bad5ec55296c82c1268ae4652bcc7b663b4e4592c48a7e79aaf7bedd7a2537')
})

test('the round is the first one that is published at the time or later', () => {
  const { genesisTime } = QUICKNET
  expect(findRound(QUICKNET, genesisTime - 1e9)).toBe(1)
  expect(findRound(QUICKNET, genesisTime)).toBe(1)
  expect(findRound(QUICKNET, genesisTime + 1)).toBe(2)
  expect(findRound(QUICKNET, genesisTime + 3)).toBe(2)
  expect(findRound(QUICKNET, genesisTime + 4)).toBe(3)
  // The README of the Ruby client of drand names this round.
  expect(findRound(QUICKNET, Date.UTC(2026, 3, 20) / 1000)).toBe(27_946_612)
  expect(computeRoundTime(QUICKNET, 27_946_612)).toBe(Date.UTC(2026, 3, 20) / 1000)
})
