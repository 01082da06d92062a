import { randomBytes, sign } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'
import * as z from 'zod'
import { GdnError } from '../../../core/errors.ts'
import { parseJson } from '../../../core/json.ts'
import { ed25519Key, publicKeyBytes } from '../../../keystore/solana-key.ts'
import { readOrCreateSecret, type SecretLocation } from '../../data-dir/secret-in-file.ts'

const SIGNER_FILE_NAME = 'solana-signer.json'

const signerFileSchema = z.strictObject({ version: z.literal(1), seed: z.string().regex(/^[0-9a-f]{64}$/) })

/** The service's signer. The signer pays fees, and mint addresses are derived from its key. */
export interface SolanaSigner {
  readonly address: string
  sign(message: Uint8Array): Uint8Array
}

export function signerFromSeed(seed: Uint8Array): SolanaSigner {
  const key = ed25519Key(seed)
  const address = base58btc.baseEncode(publicKeyBytes(key))
  return { address, sign: (message) => sign(null, message, key) }
}

/**
 * Opens the signing key of the embedded Solana chains, which is generated on first use. The key is stored in the data
 * directory or in a cluster's database. It is never used for a chain behind an RPC URL.
 */
export async function openEmbeddedSolanaSigner(
  dataDir: string,
  store: SecretLocation['store'] = null,
): Promise<SolanaSigner> {
  const { text, place } = await readOrCreateSecret(
    { dataDir, file: SIGNER_FILE_NAME, store },
    () => `${JSON.stringify({ version: 1, seed: randomBytes(32).toString('hex') })}\n`,
  )
  const parsed = signerFileSchema.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new GdnError('data_dir', `${place} is damaged or was written by a newer version of gdn`, {
      hint: 'Restore the key from a backup. Without the key, the embedded Solana chains can no longer mint.',
    })
  }
  return signerFromSeed(Buffer.from(parsed.data.seed, 'hex'))
}
