/** @module-tag slow */
import { randomBytes } from 'node:crypto'
import { address, createAddressWithSeed, isOffCurveAddress } from '@solana/kit'
import { findAssociatedTokenPda, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import { fitText } from '../../../../src/server/chain/solana/fit-text.ts'
import { keyFromBytes, parseKey } from '../../../../src/server/chain/solana/key.ts'
import { mintAddress } from '../../../../src/server/chain/solana/mint-address.ts'
import { mintInstructions } from '../../../../src/server/chain/solana/mint-instructions.ts'
import { signMint } from '../../../../src/server/chain/solana/sign-mint.ts'
import { signerFromSeed } from '../../../../src/server/chain/solana/solana-signer.ts'
import { deriveTokenAccount, isOnCurve } from '../../../../src/server/chain/solana/token-account.ts'
import { solanaWallet } from '../../../helpers/solana.ts'
import { encodeWithSdk } from '../../../helpers/solana-sdk.ts'

const signer = signerFromSeed(Buffer.alloc(32, 7))
const order = {
  group: solanaWallet('group'),
  symbol: 'ABCDE',
  uri: `ipfs://bafybei${'a'.repeat(52)}/199.json`,
  receiver: solanaWallet('receiver'),
}

describe('the address of a mint', () => {
  it('is derived from signer and ID as the network derives it', async () => {
    const id = newId()
    const seed = id.replaceAll('-', '')
    const baseAddress = address(signer.address)
    expect(mintAddress(signer.address, id)).toBe(
      await createAddressWithSeed({ baseAddress, seed, programAddress: TOKEN_2022_PROGRAM_ADDRESS }),
    )
  })

  it('differs for each ID and each signer', () => {
    const [a, b] = [newId(), newId()]
    const addresses = [signer.address, solanaWallet('other')].flatMap((by) => [mintAddress(by, a), mintAddress(by, b)])
    expect(new Set(addresses).size).toBe(4)
  })
})

describe('the token account of an owner', () => {
  it('is derived as the network derives it', async () => {
    for (let round = 0; round < 300; round++) {
      const [owner, mint] = [solanaWallet(`owner ${round}`), solanaWallet(`mint ${round}`)]
      const [token] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS })
      expect(deriveTokenAccount(parseKey(owner), parseKey(mint)).address).toBe(token)
    }
  })

  it('is no point of the curve, by the same rule', () => {
    const one = Buffer.from([1, ...Buffer.alloc(31)])
    const negativeOne = Buffer.from([1, ...Buffer.alloc(30), 128])
    const [zero, all] = [Buffer.alloc(32), Buffer.alloc(32, 255)]
    for (const bytes of [one, negativeOne, zero, all, ...Array.from({ length: 1000 }, () => randomBytes(32))]) {
      expect(isOnCurve(bytes)).toBe(!isOffCurveAddress(address(keyFromBytes(bytes).address)))
    }
  })
})

describe('a transaction', () => {
  const lifetime = { blockhash: solanaWallet('hash'), lastValidBlockHeight: 1 }
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => keyFromBytes(bytes).address)
  const program = fc.constantFrom(signer.address, order.group, TOKEN_2022_PROGRAM_ADDRESS, '1'.repeat(32))

  it('has the bytes that @solana/kit encodes', async () => {
    const facts = fc.record({
      ...{ id: fc.uuid(), group: fc.option(fc.oneof(key, fc.constant(order.group))), receiver: fc.oneof(key, program) },
      ...{ name: fc.string({ unit: 'binary', maxLength: 200 }), symbol: fc.string({ maxLength: 10 }) },
      ...{ uri: fc.webUrl(), locked: fc.boolean(), dynamic: fc.boolean(), burnable: fc.boolean() },
      maxSize: fc.option(fc.bigInt(1n, 2n ** 64n - 1n), { nil: undefined }),
    })
    const amounts = fc.record({ seed: fc.uint8Array({ minLength: 32, maxLength: 32 }), blockhash: key })
    const lamports = fc.tuple(fc.bigInt(0n, 2n ** 60n), fc.oneof(fc.constant(0n), fc.bigInt(1n, 2n ** 40n)))
    await fc.assert(
      fc.asyncProperty(facts, amounts, lamports, async (spec, { seed, blockhash }, [balance, price]) => {
        const by = signerFromSeed(seed)
        const network = { minimumBalance: async () => balance, computeUnitPrice: async () => price }
        const { raw } = await signMint(by, network, spec, { ...lifetime, blockhash })
        const bytes = Buffer.from(raw, 'base64')
        const expected = await encodeWithSdk({ spec, signer: by.address, blockhash, balance, price })
        expect(bytes.subarray(65).toString('hex')).toBe(expected.toString('hex'))
        expect(bytes.subarray(0, 65)).toEqual(Buffer.concat([Buffer.of(1), by.sign(expected)]))
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    [
      'a collection',
      { group: null, locked: false, price: 0n },
      '4me3dKtVQfbQXupiCNNk9uVd9RNkGDy6d5bNVijpo36qK6yjfRRRA9UoqCpxzHC8JqfYAzCXmhimjTjNJUoufkpZ',
    ],
    [
      'a locked NFT with a fee',
      { group: '7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q', locked: true, price: 1000n },
      '4yZWVGG7uEUTkUodAmJy9HKkHxTQZ3vNhDpU6vZBNEcZsCFbgp9Aui3wAjjqzLHFQWE5KuCPGXTffnfKczqcEPgb',
    ],
  ])('always has the same signature: %s', async (_, { price, ...kind }, expected) => {
    const receiver = '8M2mGtWPyZmiYTCUTQmRZmbqeXvo6wmYQNJb6LR6Zqdc'
    const texts = { name: 'Grüße 👋', symbol: 'ABCDE', uri: 'ipfs://bafybei/199.json' }
    const spec = { id: '01234567-89ab-cdef-0123-456789abcdef', receiver, ...texts, ...kind }
    const network = { minimumBalance: async () => 5_000_000n, computeUnitPrice: async () => price }
    const blockhash = 'GRTD3jtkFPBJdtLs9xeLQX3FHDCNVTWpuANxjzACXD6t'
    expect((await signMint(signer, network, spec, { ...lifetime, blockhash })).signature).toBe(expected)
  })

  it('is not signed for a receiver that is no address', async () => {
    const spec = { ...order, id: newId(), name: 'A', locked: false, receiver: solanaWallet('short').slice(2) }
    await expect(signMint(signer, { minimumBalance: async () => 1n }, spec, lifetime)).rejects.toThrow('address')
  })

  it('has at most 1,232 bytes and contains as much of the name as fits', async () => {
    const network = { minimumBalance: async () => 1_000_000n }
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 800 })
    await fc.assert(
      fc.asyncProperty(name, fc.boolean(), fc.boolean(), async (title, locked, isGroup) => {
        const what = { ...order, id: newId(), group: isGroup ? null : order.group, name: title, locked }
        const { raw } = await signMint(signer, network, what, lifetime)
        const bytes = Buffer.from(raw, 'base64')
        expect(bytes.length).toBeLessThanOrEqual(1232)
        const whole = bytes.includes(Buffer.from(title))
        if (!whole) expect(bytes.length).toBeGreaterThan(1232 - 3 - 100)
      }),
      { numRuns: 100 },
    )
  })

  it('includes the rent of the accounts that it creates, paid by the service', async () => {
    const requests: number[] = []
    await mintInstructions(
      parseKey(signer.address),
      { ...order, id: newId(), name: 'A', locked: false },
      async (bytes) => {
        requests.push(bytes)
        return 1n
      },
    )
    // A mint with extensions takes 166 bytes, two pointers 68 each, the metadata 84 plus its texts, the member 76.
    expect(requests).toEqual([166 + 2 * 68 + 84 + 1 + 5 + Buffer.byteLength(order.uri) + 76])
  })
})

describe('fitText', () => {
  it('returns a text that fits unchanged', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => fitText(text, Buffer.byteLength(text)) === text))
  })

  it('cuts a longer text between characters and adds an ellipsis within the limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 3, max: 60 }), (text, room) => {
        const fitted = fitText(text, room)
        expect(Buffer.byteLength(fitted)).toBeLessThanOrEqual(room)
        expect(fitted.isWellFormed()).toBe(true)
        if (fitted !== text) expect(text.startsWith(fitted.slice(0, -1))).toBe(true)
      }),
    )
  })

  it('never splits a grapheme', () => {
    expect(fitText('👩🏽‍🚀👩🏽‍🚀', 20)).toBe('👩🏽‍🚀…')
    expect(fitText('ab👩🏽‍🚀', 16)).toBe('ab…')
  })
})
