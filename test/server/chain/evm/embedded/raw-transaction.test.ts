/** @module-tag slow */
import fc from 'fast-check'
import { type Hex, serializeTransaction, type TransactionSerializable } from 'viem'
import { describe, expect, test } from 'vitest'
import { legacyChainId, parseGasLimit } from '../../../../../src/server/chain/evm/embedded/raw-transaction.ts'
import { newAccount } from './fixture.ts'

const account = newAccount()
const word = (byte: string): Hex => `0x${byte.repeat(32)}`
const signature = { r: word('7a'), s: word('1b'), yParity: 1, v: 28n } as const
const blob: Hex = `0x${'00'.repeat(131_072)}`
const point: Hex = `0x${'c0'.repeat(48)}`

const fees = fc.record({
  nonce: fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat()),
  gas: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  price: fc.bigInt({ min: 0n, max: 2n ** 100n }),
  chainId: fc.integer({ min: 1, max: 2 ** 40 }),
  to: fc.constantFrom<Hex | undefined>(undefined, account.address),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 80 }).map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`),
    fc.nat({ max: 70_000 }).map((length): Hex => `0x${'ab'.repeat(length)}`),
  ),
})

type Kind = 'legacy' | 'eip2930' | 'eip1559' | 'eip4844' | 'eip4844 with blobs' | 'eip7702'
const KINDS: readonly Kind[] = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip4844 with blobs', 'eip7702']

type Fields = typeof fees extends fc.Arbitrary<infer Value> ? Value : never

function serialize(kind: Kind, { price, to, chainId, ...rest }: Fields): Hex {
  const base = { ...rest, chainId, ...(to === undefined ? {} : { to }) }
  const capped = { ...base, maxFeePerGas: price, maxPriorityFeePerGas: price }
  const blobs = { ...capped, to: account.address, maxFeePerBlobGas: price, blobVersionedHashes: [word('01')] }
  const sidecars = [{ blob, commitment: point, proof: point }]
  const one: Record<Kind, TransactionSerializable> = {
    legacy: { ...base, type: 'legacy', gasPrice: price },
    eip2930: { ...base, type: 'eip2930', gasPrice: price, accessList: [{ address: account.address, storageKeys: [] }] },
    eip1559: { ...capped, type: 'eip1559' },
    eip4844: { ...blobs, type: 'eip4844' },
    'eip4844 with blobs': { ...blobs, type: 'eip4844', sidecars },
    eip7702: { ...capped, type: 'eip7702', authorizationList: [] },
  }
  return serializeTransaction(one[kind], signature)
}

describe('the gas limit in the bytes of a transaction', () => {
  test.each(KINDS)('is parsed from %s transactions with any content', (kind) => {
    const runs = kind === 'eip4844 with blobs' ? 5 : 200
    fc.assert(
      fc.property(fees, (fields) => {
        expect(parseGasLimit(serialize(kind, fields))).toBe(fields.gas)
      }),
      { numRuns: runs },
    )
  })

  test('is 0 for bytes that are not a transaction, and never throws', () => {
    expect(parseGasLimit('0x')).toBe(0n)
    expect(parseGasLimit('0x7f00')).toBe(0n)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        const raw: Hex = `0x${Buffer.from(bytes).toString('hex')}`
        expect(parseGasLimit(raw)).toBeGreaterThanOrEqual(0n)
        expect(legacyChainId(raw) ?? 0).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})

describe('the chain of a legacy transaction', () => {
  test('is the one that it is signed for, regardless of the length of its data', async () => {
    await fc.assert(
      fc.asyncProperty(fees, async ({ price, to, chainId, nonce, ...rest }) => {
        const fields = { ...rest, nonce, chainId, gasPrice: price, ...(to === undefined ? {} : { to }) }
        expect(legacyChainId(await account.signTransaction({ type: 'legacy', ...fields }))).toBe(chainId)
      }),
      { numRuns: 50 },
    )
  })

  test('is null if it is valid for any chain, and for other types', async () => {
    expect(
      legacyChainId(serializeTransaction({ type: 'legacy', nonce: 1, gas: 1n }, { ...signature, v: 27n })),
    ).toBeNull()
    expect(legacyChainId(await account.signTransaction({ type: 'eip1559', chainId: 1, nonce: 0 }))).toBeNull()
  })
})
