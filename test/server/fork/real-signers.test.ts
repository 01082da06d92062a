import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { describeMissingFunds } from '../../../src/server/chain/missing-funds.ts'
import { realSigners } from '../../../src/server/fork/real-signers.ts'

const newAddress = () => privateKeyToAccount(generatePrivateKey()).address
const PAIRS = Array.from({ length: 3 }, () => ({ real: newAddress(), copy: newAddress() }))
const payer = { role: 'signer', blockchain: 'base', coin: 'ETH' } as const

test.each([
  ['a checksummed address', (copy: string) => `the signer ${copy} has 0 ETH`],
  ['an address in lower case', (copy: string) => `insufficient funds for ${copy.toLowerCase()}`],
  ['an address in upper case', (copy: string) => `insufficient funds for 0x${copy.slice(2).toUpperCase()}`],
  ['the data of a call', (copy: string) => `reverted: 0x${copy.slice(2).toLowerCase().padStart(64, '0')}`],
  ['a shortage', (copy: string) => String(describeMissingFunds({ ...payer, address: copy }, 1n, 2n))],
  [
    'a shortage of a drop',
    (copy: string) => String(describeMissingFunds({ ...payer, address: copy }, 1n, 2n, { nfts: 3, wei: 9n })),
  ],
])('names the real signer in %s', (_, textOf) => {
  const { replaceInText, replaceInError } = realSigners(PAIRS)
  for (const { real, copy } of PAIRS) {
    const text = textOf(copy)
    expect(replaceInText(text).toLowerCase()).not.toContain(copy.slice(2).toLowerCase())
    expect(replaceInText(text)).toContain(real.slice(2))
    const cause = new GdnError('not_ready', text)
    const error = new GdnError('unreachable', text, { hint: text, details: { failed_rows: [{ error: text }] }, cause })
    const named = replaceInError(error) as GdnError
    const { code, message, hint, details } = named
    expect({ code, message, hint, details }).toEqual({
      code: 'unreachable',
      message: replaceInText(text),
      hint: replaceInText(text),
      details: { failed_rows: [{ error: replaceInText(text) }] },
    })
    expect(`${named.stack}${(named.cause as GdnError).stack}`.toLowerCase()).not.toContain(copy.slice(2).toLowerCase())
  }
})

test('leaves other addresses and errors as they are', () => {
  const { replaceInText, replaceInError } = realSigners(PAIRS)
  const text = `${newAddress()} ${PAIRS[0]?.real}`
  expect(replaceInText(text)).toBe(text)
  expect(realSigners([]).replaceInText(text)).toBe(text)
  const error = new Error(text)
  expect(replaceInError(error)).toBe(error)
})
