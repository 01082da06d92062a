import { describe, expect, test } from 'vitest'
import { findLookAlikes, findSameAddressNames } from '../../src/ens/look-alike.ts'

const named = (...names: string[]) => names.map((name, n) => [name, `0x${n}`] as const)

describe('names that look alike', () => {
  test.each([
    ['vitalik.eth', 'vita1ik.eth'],
    ['alice.eth', 'aiice.eth'],
    ['b0b.eth', 'bob.eth'],
    ['modern.eth', 'modem.eth'],
    ['wave.eth', 'vvave.eth'],
    ['ロ.eth', '口.eth'],
    ['ニカ.eth', '二力.eth'],
    ['タエ.eth', '夕工.eth'],
    ['トハ.eth', '卜八.eth'],
  ])('%s and %s are a pair', (first, second) => {
    expect(findLookAlikes(named(first, second), 10)).toEqual([named(first, second)])
  })

  test('names that differ in other letters are no pair', () => {
    expect(findLookAlikes(named('alice.eth', 'alive.eth', 'bob.eth'), 10)).toEqual([])
  })

  test('two names of one address are a pair by their address, not by their look', () => {
    const names = [['alice.eth', '0xA'] as const, ['al1ce.eth', '0xa'] as const]
    expect(findLookAlikes(names, 10)).toEqual([])
    expect(findSameAddressNames(names, 10)).toEqual([names])
  })

  test('at most `limit` pairs are returned', () => {
    expect(findLookAlikes(named('o.eth', '0.eth', 'oo.eth', '0o.eth'), 1)).toHaveLength(1)
  })
})
