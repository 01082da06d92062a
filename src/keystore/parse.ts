import * as z from 'zod'
import { GdnError } from '../core/errors.ts'
import { parseStrictJson } from '../core/strict-json.ts'
import { type Kdf, kdfProblem, MAX_KEYSTORE_BYTES } from './limits.ts'
import { isSolanaAddress } from './solana-key.ts'

/** A Web3 Secret Storage file of version 3 that was parsed but not decrypted. */
export interface Keystore {
  /**
   * The address in the file, in lower case with `0x` for EVM and in base58 for Solana, or null if there is none. The
   * address isn't verified until the keystore is opened.
   */
  address: string | null
  kdf: Kdf
  iv: Uint8Array
  ciphertext: Uint8Array
  mac: Uint8Array
}

const hexSchema = (bytes?: number) =>
  z
    .string({ error: 'must be hex digits in a string' })
    .regex(/^([0-9a-fA-F]{2})+$/, { error: 'must be hex digits, two per byte' })
    .transform((digits) => Uint8Array.from(Buffer.from(digits, 'hex')))
    .refine((value) => bytes === undefined || value.length === bytes, { error: `must have ${bytes} bytes` })

const literalSchema = <Value extends string | number>(value: Value) =>
  z.literal(value, { error: `must be ${JSON.stringify(value)}` })

const countSchema = z.int({ error: 'must be a whole number' })
// The derived key must have 32 bytes. The first half decrypts, and the second half authenticates.
const dklenSchema = literalSchema(32)

const cipherFields = {
  cipher: literalSchema('aes-128-ctr'),
  cipherparams: z.looseObject({ iv: hexSchema(16) }),
  ciphertext: hexSchema(),
  mac: hexSchema(32),
}

const cryptoSchema = z.discriminatedUnion(
  'kdf',
  [
    z.looseObject({
      ...cipherFields,
      kdf: z.literal('scrypt'),
      kdfparams: z.looseObject({
        dklen: dklenSchema,
        n: countSchema,
        r: countSchema,
        p: countSchema,
        salt: hexSchema(),
      }),
    }),
    z.looseObject({
      ...cipherFields,
      kdf: z.literal('pbkdf2'),
      kdfparams: z.looseObject({
        dklen: dklenSchema,
        c: countSchema,
        prf: literalSchema('hmac-sha256'),
        salt: hexSchema(),
      }),
    }),
  ],
  { error: 'must be "scrypt" or "pbkdf2"' },
)

const EVM_ADDRESS = /^(0x)?[0-9a-fA-F]{40}$/

const addressSchema = z
  .string()
  .refine((text) => EVM_ADDRESS.test(text) || isSolanaAddress(text), {
    error: 'must be 40 hex digits, or a Solana address',
  })
  .transform((text) => (EVM_ADDRESS.test(text) ? `0x${text.slice(-40).toLowerCase()}` : text))

const keystoreSchema = z.looseObject({
  version: literalSchema(3),
  address: addressSchema.nullish(),
  // The oldest programs capitalized this key.
  crypto: cryptoSchema.optional(),
  Crypto: cryptoSchema.optional(),
})

/**
 * Returns whether a keystore is for Solana. A Solana keystore contains a keypair, so that no EVM wallet mistakes it for
 * an EVM keystore.
 */
export const isSolanaKeystore = ({ address }: Keystore): boolean => address !== null && !address.startsWith('0x')

/**
 * Parses the text of a keystore. Checks everything that can be checked before a key is derived, including the limits
 * for the derivation.
 *
 * @param name the keystore's name in messages
 * @throws GdnError `invalid_input`
 */
export function parseKeystore(text: string, name: string): Keystore {
  const keystoreError = (message: string, field?: string) =>
    new GdnError('invalid_input', message, { place: { file: name, field } })
  if (text.length > MAX_KEYSTORE_BYTES) throw keystoreError('is too large for a keystore')
  const json = parseJson(text, name)
  const parsed = keystoreSchema.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw keystoreError(`is not a keystore that gdn can open: ${issue?.path.join('.')} ${issue?.message}`)
  }
  const section = parsed.data.crypto ?? parsed.data.Crypto
  if (section === undefined) throw keystoreError('is not a keystore: it has no "crypto"')
  if (parsed.data.crypto !== undefined && parsed.data.Crypto !== undefined) throw keystoreError('has "crypto" twice')
  const kdf: Kdf =
    section.kdf === 'scrypt' ? { kdf: 'scrypt', ...section.kdfparams } : { kdf: 'pbkdf2', ...section.kdfparams }
  const problem = kdfProblem(kdf)
  if (problem !== null) throw keystoreError(problem.message, `crypto.kdfparams.${problem.field}`)
  const { ciphertext, mac, cipherparams } = section
  return { address: parsed.data.address ?? null, kdf, iv: cipherparams.iv, ciphertext, mac }
}

function parseJson(text: string, name: string): unknown {
  try {
    return parseStrictJson(text, name, 'invalid_input')
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    throw error.with({
      message: `is not a keystore: ${error.message}`,
      hint: 'Use a keystore in JSON, such as a file that `gdn wallet export` wrote.',
    })
  }
}
