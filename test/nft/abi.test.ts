import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeAddress, decodeString, ownerOf, parseTokenId, tokenUri } from '../../src/nft/abi.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
])
const LARGEST = 2n ** 256n - 1n

test.each([0n, 1n, 12345678901234567890n, LARGEST])('calls for token %i are encoded as the ABI has them', (id) => {
  expect(ownerOf(id)).toBe(encodeFunctionData({ abi: ABI, functionName: 'ownerOf', args: [id] }))
  expect(tokenUri(id)).toBe(encodeFunctionData({ abi: ABI, functionName: 'tokenURI', args: [id] }))
})

test.each(['', 'a', 'ipfs://bafy/0.json', 'ü€😀', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(33), '\ufeffbom'])(
  'the string %j is decoded',
  (text) => {
    expect(decodeString(encodeAbiParameters([{ type: 'string' }], [text]))).toBe(text)
  },
)

const TEXT = encodeAbiParameters([{ type: 'string' }], ['ipfs://bafy/0.json'])

describe('no string is', () => {
  test.each([
    ['nothing', '0x'],
    ['no hex', 'zz'],
    ['one cut off', TEXT.slice(0, -2)],
    ['one cut by a word', TEXT.slice(0, -64)],
    ['one with a word behind it', TEXT + '0'.repeat(64)],
    ['one that begins elsewhere', TEXT.replace(/20/, '40')],
    ['one longer than what follows', TEXT.replace(/0012/, '0062')],
    ['one of absurd length', TEXT.replace(/^(0x.{64})0/, '$1f')],
    ['one that is not UTF-8', TEXT.replace('69706673', 'ff706673')],
    ['one with something behind its end', TEXT.replace(/0$/, '1')],
  ])('%s', (_, hex) => {
    expect(decodeString(hex)).toBeNull()
  })
})

test('an address is one word with twelve empty bytes before it', () => {
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
])('the token id %j is %s', (text, id) => {
  expect(parseTokenId(text)).toBe(id)
})
