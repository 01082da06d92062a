import { address, createAddressWithSeed } from '@solana/kit'
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import { fitText } from '../../../../src/server/chain/solana/fit-text.ts'
import { mintAddress } from '../../../../src/server/chain/solana/mint-address.ts'
import { mintInstructions } from '../../../../src/server/chain/solana/mint-instructions.ts'
import { signMint } from '../../../../src/server/chain/solana/sign-mint.ts'
import { signerOfSeed } from '../../../../src/server/chain/solana/signer.ts'
import { solanaWallet } from '../../../helpers/solana.ts'

const signer = signerOfSeed(Buffer.alloc(32, 7))
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

describe('a transaction', () => {
  const lifetime = { blockhash: solanaWallet('hash'), lastValidBlockHeight: 1 }

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
    const asked: number[] = []
    await mintInstructions(signer.address, { ...order, id: newId(), name: 'A', locked: false }, async (bytes) => {
      asked.push(bytes)
      return 1n
    })
    // A mint with extensions takes 166 bytes, two pointers 68 each, the metadata 84 plus its texts, the member 76.
    expect(asked).toEqual([166 + 2 * 68 + 84 + 1 + 5 + Buffer.byteLength(order.uri) + 76])
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
