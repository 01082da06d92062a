import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeAddress, decodeString, ownerOfCall, parseTokenId, tokenUriCall } from '../../src/verify/abi.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
])
const LARGEST = 2n ** 256n - 1n

test.each([0n, 1n, 12345678901234567890n, LARGEST])('encodes calls for token %i as in the ABI', (id) => {
  expect(ownerOfCall(id)).toBe(encodeFunctionData({ abi: ABI, functionName: 'ownerOf', args: [id] }))
  expect(tokenUriCall(id)).toBe(encodeFunctionData({ abi: ABI, functionName: 'tokenURI', args: [id] }))
})

test.each(['', 'a', 'ipfs://bafy/0.json', 'ü€😀', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(33), '\ufeffbom'])(
  'decodes the string %j',
  (text) => {
    expect(decodeString(encodeAbiParameters([{ type: 'string' }], [text]))).toBe(text)
  },
)

const TEXT = encodeAbiParameters([{ type: 'string' }], ['ipfs://bafy/0.json'])

describe('rejects as a string', () => {
  test.each([
    ['nothing', '0x'],
    ['text that is not hex', 'zz'],
    ['a truncated string', TEXT.slice(0, -2)],
    ['a string without its last word', TEXT.slice(0, -64)],
    ['a string followed by another word', TEXT + '0'.repeat(64)],
    ['a string at another offset', TEXT.replace(/20/, '40')],
    ['a length beyond the data', TEXT.replace(/0012/, '0062')],
    ['an absurd length', TEXT.replace(/^(0x.{64})0/, '$1f')],
    ['a string that is not UTF-8', TEXT.replace('69706673', 'ff706673')],
    ['a string with padding that is not zero', TEXT.replace(/0$/, '1')],
  ])('%s', (_, hex) => {
    expect(decodeString(hex)).toBeNull()
  })
})

test('decodes an address from one word with twelve leading zero bytes', () => {
  const address = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
  expect(decodeAddress(encodeAbiParameters([{ type: 'address' }], [address]))).toBe(address.toLowerCase())
  for (const wrong of ['0x', '0x0', address, `0x1${'0'.repeat(63)}`]) expect(decodeAddress(wrong)).toBeNull()
})

test.each([
  ['0', 0n],
  ['17', 17n],
  [String(LARGEST), LARGEST],
  [String(LARGEST + 1n), null],
  ['', null],
  ['01', null],
  ['1e3', null],
  ['0x1', null],
  ['-1', null],
  ['So11111111111111111111111111111111111111112', null],
])('parses the token id %j as %s', (text, id) => {
  expect(parseTokenId(text)).toBe(id)
})
