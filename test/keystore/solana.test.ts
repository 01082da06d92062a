import { createKeyPairSignerFromBytes } from '@solana/kit'
import { base58btc } from 'multiformats/bases/base58'
import { describe, expect, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { openEvmKeystore, openKeystore } from '../../src/keystore/open.ts'
import { parseKeystore } from '../../src/keystore/parse.ts'
import { prepareSeal } from '../../src/keystore/seal.ts'
import { deriveKeypair, deriveKeypairAddress } from '../../src/keystore/solana-key.ts'
import { generateKey } from '../../src/wallet/new-key.ts'

vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const PASSWORD = new Secret('correct horse')

async function sealed(): Promise<{ text: string; address: string; privateKey: Secret }> {
  const { address, privateKey } = generateKey('solana')
  const seal = await prepareSeal(PASSWORD)
  return { text: seal.sealKeystore(privateKey, address), address, privateKey }
}

const failure = async (opening: Promise<unknown>): Promise<GdnError> => {
  const error: unknown = await opening.catch((reason: unknown) => reason)
  if (error instanceof GdnError) return error
  throw new Error('it was opened')
}

test('a keypair has the address that @solana/kit derives', async () => {
  const { address, privateKey } = generateKey('solana')
  const signer = await createKeyPairSignerFromBytes(base58btc.baseDecode(privateKey.reveal()))
  expect(address).toBe(signer.address)
})

test('a keypair with another public key has no address', () => {
  const [one, other] = [deriveKeypair(new Uint8Array(32).fill(1)), deriveKeypair(new Uint8Array(32).fill(2))]
  expect(deriveKeypairAddress(one)).toMatch(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)
  expect(deriveKeypairAddress(Buffer.concat([one.subarray(0, 32), other.subarray(32)]))).toBeNull()
  expect(deriveKeypairAddress(one.subarray(0, 63))).toBeNull()
})

describe('a keystore of Solana', () => {
  test('opens with the key that was sealed', async () => {
    const { text, address, privateKey } = await sealed()
    expect(JSON.parse(text)).toMatchObject({ version: 3, address })
    const opened = await openKeystore(text, PASSWORD, 'k.json')
    expect([opened.address, opened.privateKey.reveal()]).toEqual([address, privateKey.reveal()])
  })

  test('does not open under another address', async () => {
    const { text } = await sealed()
    const { address } = generateKey('solana')
    const error = await failure(openKeystore(JSON.stringify({ ...JSON.parse(text), address }), PASSWORD, 'k.json'))
    expect(error.message).toContain(`contains the address ${address}`)
  })

  test('is rejected where an EVM network needs a key, before the password is tried', async () => {
    const { text, address } = await sealed()
    const error = await failure(openEvmKeystore(text, new Secret('another password'), 'k.json'))
    expect(error.message).toBe(`is a Solana wallet (${address}), but this is an EVM network`)
  })

  test('with the key of an EVM wallet is rejected', async () => {
    const { address } = generateKey('solana')
    const { privateKey } = generateKey('evm')
    const text = (await prepareSeal(PASSWORD)).sealKeystore(privateKey, address)
    expect((await failure(openKeystore(text, PASSWORD, 'k.json'))).message).toContain('not a valid private key')
  })

  test.each(['1'.repeat(31), '1'.repeat(33), '0'.repeat(39), 'O'.repeat(44), ''])(
    'rejects the address %j',
    async (address) => {
      const { text } = await sealed()
      expect(() => parseKeystore(JSON.stringify({ ...JSON.parse(text), address }), 'k.json')).toThrow('Solana address')
    },
  )
})
