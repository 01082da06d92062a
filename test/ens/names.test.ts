import fc from 'fast-check'
import { normalize } from 'viem/ens'
import { describe, expect, test } from 'vitest'
import { chainIdOf, KNOWN_EVM_NAMES } from '../../src/api/blockchains.ts'
import { ENS_FORM, isEnsName } from '../../src/api/ens-name.ts'
import { computeCoinType } from '../../src/ens/coin-type.ts'
import { normalizeName } from '../../src/ens/normalize-name.ts'

const normalized = (name: string) => normalizeName(name, { flag: '--receiver' })

describe('ENS names', () => {
  test.each(['alice.eth', 'Alice.ETH', 'a.b.c.xyz', '🦊.eth', 'ä.eth', '0x1.eth', '100.eth', 'al ice.eth', 'x.'])(
    '%s is meant as an ENS name',
    (name) => {
      expect(isEnsName(name)).toBe(true)
      expect(name).toMatch(new RegExp(`^(?:${ENS_FORM})$`))
    },
  )

  test.each([
    ...['alice', '@alice', '@alice.eth', '0x105BA2A3D820926739b9443a81fb7ab5C531e823', 'alice@example.com', '1.5'],
    ...['https://a.eth', 'a/b.eth', '1,05BA', '1.05E+47', '"alice.eth"', '', undefined, 7],
  ])('%s is not meant as an ENS name', (name) => {
    expect(isEnsName(name)).toBe(false)
  })

  test.each([
    ['Alice.ETH', 'alice.eth'],
    ['ＡＬＩＣＥ.eth', 'alice.eth'],
    ['ⅼove.eth', 'love.eth'],
    ['_a.eth', '_a.eth'],
    ['Ä.eth', 'ä.eth'],
    ['al\u200bice.eth', 'alice.eth'],
    ['🏴‍☠️.eth', '🏴‍☠.eth'],
  ])('%s is normalized as %s', (name, expected) => {
    expect(normalized(name)).toBe(expected)
  })

  test('a name of letters, digits and hyphens is normalized as ENSIP-15 says, or rejected as it says', () => {
    const label = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/)
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), (labels) => {
        const name = labels.join('.')
        let expected: string | undefined
        try {
          expected = normalize(name)
        } catch {
          expect(() => normalized(name)).toThrow('is not a valid ENS name')
          return
        }
        expect(normalized(name)).toBe(expected)
      }),
      { numRuns: 2_000 },
    )
  })

  // Look-alikes within one script are disallowed, too.
  test.each([
    ['vitаlik.eth', 'illegal mixture: Latin + Cyrillic "а" {430}'],
    ['аррӏе.eth', 'whole-script confusable: Cyrillic/Latin'],
    ['οοο.eth', 'whole-script confusable: Greek/Latin'],
    ['ɑlice.eth', 'disallowed character: "ɑ" {251}'],
    ['ıce.eth', 'disallowed character: "ı" {131}'],
    ['ɡoogle.eth', 'disallowed character: "ɡ" {261}'],
    ['ᴏpen.eth', 'disallowed character: "ᴏ" {1D0F}'],
    ['l·l.eth', 'disallowed character: "·" {B7}'],
    ['a b.eth', 'disallowed character: " " {20}'],
    ['a..eth', 'empty label'],
    ['alice.eth.', 'empty label'],
    ['a\u001b[31m.eth', 'disallowed character: {1B}'],
  ])('rejects %j', (name, reason) => {
    expect(() => normalized(name)).toThrow(
      expect.objectContaining({
        code: 'usage',
        place: { flag: '--receiver' },
        message: expect.stringMatching(/is not a valid ENS name: /),
        hint: expect.stringMatching(/\.$/),
      }),
    )
    expect(() => normalized(name)).toThrow(`is not a valid ENS name: ${reason}`)
  })

  test('rejects a name of more than 255 characters', () => {
    expect(() => normalized(`${'a'.repeat(300)}.eth`)).toThrow('it has more than 255 characters')
  })

  test('normalizing twice changes nothing, and the result never has an invisible or control character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (label) => {
        let once: string
        try {
          once = normalized(`${label}.eth`)
        } catch (error) {
          expect(error).toMatchObject({ code: 'usage' })
          return
        }
        expect(normalized(once)).toBe(once)
        expect(once).not.toMatch(/[\u0000-\u0020\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/)
      }),
      { numRuns: 100 },
    )
  })
})

describe('coin types', () => {
  test.each([
    [1, 60n],
    [10, 2147483658n],
    [137, 2147483785n],
    [8453, 2147492101n],
    [11_155_111, 2158638759n],
    [0x7fffffff, 0xffffffffn],
    [0x80000000, null],
    [0, null],
  ])('chain %d has the coin type %s', (chainId, coinType) => {
    expect(computeCoinType(chainId)).toBe(coinType)
  })

  test('every blockchain but Ethereum has a coin type of its own, from which its chain ID follows', () => {
    const ids = KNOWN_EVM_NAMES.map((name) => chainIdOf(name) ?? 0)
    for (const chainId of ids) {
      const coinType = computeCoinType(chainId)
      if (chainId === 1) expect(coinType).toBe(60n)
      else expect(coinType).toBe(BigInt(chainId) + 0x80000000n)
    }
    expect(new Set(ids.map(computeCoinType)).size).toBe(new Set(ids).size)
  })
})
