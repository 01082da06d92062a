import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { getAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  addressProblem,
  checksumAddress,
  evmAddressProblem,
  isLowerCaseAddress,
  solanaAddressProblem,
} from '../../src/api/address.ts'
import { isSameAddress } from '../../src/api/same-address.ts'

const ADDRESS = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const hexDigits = fc.stringMatching(/^[0-9a-f]{40}$/).filter((digits) => !/^0+$/.test(digits))

describe('an EVM address', () => {
  it('leaves any other text unchanged after any other address was formatted', () => {
    for (const other of ['', ADDRESS.slice(0, -1), `${ADDRESS.slice(0, -1)}g`]) {
      expect(checksumAddress(ADDRESS.toLowerCase())).toBe(ADDRESS)
      expect(checksumAddress(other)).toBe(other)
    }
  })

  it.each([
    ['with its checksum', ADDRESS],
    ['all in lower case', ADDRESS.toLowerCase()],
    ['all in upper case', `0x${ADDRESS.slice(2).toUpperCase()}`],
    ['digits only', `0x${'1'.repeat(40)}`],
  ])('%s is legal', (_what, address) => expect(evmAddressProblem(address)).toBeNull())

  it.each([
    ['a flipped letter of the checksum', '0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', /wrong checksum/],
    ['a changed digit', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d358', /wrong checksum/],
    ['39 digits', ADDRESS.slice(0, -1), /40 hex digits after 0x, but has 39/],
    ['41 digits', `${ADDRESS}0`, /has 41/],
    ['0X', `0X${ADDRESS.slice(2)}`, /must begin with 0x, not 0X/],
    ['no 0x', ADDRESS.slice(2), /must begin with 0x, followed by/],
    ['the zero address', `0x${'0'.repeat(40)}`, /zero address/],
    ['a spreadsheet’s number', '1.15E+47', /a spreadsheet seems to have changed it/],
    ['a spreadsheet’s number with a comma', '1,15E+47', /a spreadsheet seems to have changed it/],
    ['a letter that is not a hex digit', `0x${'g'.repeat(40)}`, /is not an EVM address/],
    ['white space', ` ${ADDRESS}`, /is not an EVM address/],
    ['a trailing line break', `${ADDRESS}\n`, /is not an EVM address/],
    ['full-width digits', `0x${'１'.repeat(40)}`, /is not an EVM address/],
    ['nothing', '', /is not an EVM address/],
    ['a name', 'vitalik.eth', /is a name, not an address/],
  ])('rejects %s', (_what, address, message) => {
    expect(evmAddressProblem(address)).toMatch(message)
    expect(isLowerCaseAddress(address)).toBe(false)
  })

  it('formats a lower-case address that is valid without a checksum', () => {
    const odd = fc.constantFrom('A', 'F', 'g', '/', ':', '@', '`', '\0', '１', ' ')
    fc.assert(
      fc.property(hexDigits, odd, fc.nat({ max: 39 }), (digits, other, at) => {
        const address = `0x${digits}`
        expect(isLowerCaseAddress(address)).toBe(true)
        expect(isLowerCaseAddress(address.slice(0, at + 2) + other + address.slice(at + 3))).toBe(false)
      }),
    )
  })

  it('gives every address the checksum that viem computes, and rejects it with one letter flipped', async () => {
    await fc.assert(
      fc.asyncProperty(hexDigits, async (digits) => {
        // Lets the faster implementation load in the meantime.
        await setImmediate()
        const address = checksumAddress(`0x${digits}`)
        expect(address).toBe(getAddress(`0x${digits}`))
        expect(checksumAddress(`0x${digits.toUpperCase()}`)).toBe(address)
        expect(evmAddressProblem(address)).toBeNull()
        for (const [i, letter] of [...address].entries()) {
          if (i < 2 || !/[a-fA-F]/.test(letter)) continue
          const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
          const changed = address.slice(0, i) + flipped + address.slice(i + 1)
          const rest = changed.slice(2)
          const oneCase = rest === rest.toLowerCase() || rest === rest.toUpperCase()
          expect(evmAddressProblem(changed) === null).toBe(oneCase)
        }
      }),
    )
  })
})

describe('a Solana address', () => {
  it.each([
    '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM',
    '11111111111111111111111111111111',
    'So11111111111111111111111111111111111111112',
  ])('%s is legal: base58 of 32 bytes', (address) => expect(solanaAddressProblem(address)).toBeNull())

  it.each([
    ['31 bytes', '1'.repeat(31), /it has 31 bytes, not 32/],
    ['33 bytes', '1'.repeat(33), /it has 33 bytes, not 32/],
    ['an extra leading 1', '14uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', /33 bytes/],
    ['a letter that is not in base58 (0)', `0${'1'.repeat(31)}`, /base58/],
    ['O', `O${'1'.repeat(31)}`, /base58/],
    ['I', `I${'1'.repeat(31)}`, /base58/],
    ['l', `l${'1'.repeat(31)}`, /base58/],
    ['an EVM address', ADDRESS, /is an EVM address, but this blockchain is Solana/],
    ['nothing', '', /32/],
    ['a very long text', '1'.repeat(100_000), /base58/],
  ])('rejects %s', (_what, address, message) => expect(solanaAddressProblem(address)).toMatch(message))

  it('is rejected on an EVM blockchain, and an EVM address on Solana', () => {
    expect(addressProblem('4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', 'polygon')).toMatch(/is not an EVM address/)
    expect(addressProblem(ADDRESS, 'solana-testnet')).toMatch(/is an EVM address/)
  })
})

describe('sameAddress', () => {
  it('compares EVM addresses without case, and Solana addresses with case', () => {
    expect(isSameAddress(ADDRESS, ADDRESS.toLowerCase())).toBe(true)
    expect(isSameAddress(ADDRESS, `0x${'1'.repeat(40)}`)).toBe(false)
    const solana = 'So11111111111111111111111111111111111111112'
    expect(isSameAddress(solana, solana)).toBe(true)
    expect(isSameAddress(solana, solana.toLowerCase())).toBe(false)
  })
})
