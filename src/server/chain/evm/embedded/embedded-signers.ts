import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { GdnError } from '../../../../core/errors.ts'
import { parseJson } from '../../../../core/json.ts'
import { readOrCreateSecret, type SecretLocation } from '../../../data-dir/secret-in-file.ts'
import type { Signer, Signers } from '../evm-signer.ts'
import type { Hex } from '../network.ts'

const SIGNERS_FILE_NAME = 'signers.json'

const hexKeySchema = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])
const signersFileSchema = z.strictObject({ version: z.literal(1), admin: hexKeySchema, operator: hexKeySchema })

export interface EmbeddedSigners extends Signers {
  readonly admin: Signer
}

/** Loads the signing code on first use. */
export type LazySigners = () => Promise<EmbeddedSigners>

/**
 * Opens the signing keys for the embedded chains of a data directory, or of a cluster's database. The keys are
 * generated on first use. They are never used for a chain with an RPC URL, because embedded chains have the same chain
 * IDs as public networks.
 */
export async function openEmbeddedSigners(
  dataDir: string,
  store: SecretLocation['store'] = null,
): Promise<LazySigners> {
  const { text, place } = await readOrCreateSecret(
    { dataDir, file: SIGNERS_FILE_NAME, store },
    () => `${JSON.stringify({ version: 1, admin: randomEvmKey(), operator: randomEvmKey() })}\n`,
  )
  const parsed = signersFileSchema.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new GdnError('data_dir', `${place} is damaged or was written by a newer version of gdn`, {
      hint: 'Restore the keys from a backup. Without the keys, the embedded chains can no longer mint.',
    })
  }
  const { admin, operator } = parsed.data
  let signers: Promise<EmbeddedSigners> | undefined
  const load = async () => {
    const { createSigner } = await import('../create-signer.ts')
    return { admin: createSigner(admin), operators: [createSigner(operator)] }
  }
  return () => {
    signers ??= load()
    return signers
  }
}

/** Returns a random private key. About 1 in 2^128 of all 32-byte numbers is not valid for secp256k1. */
export const randomEvmKey = (): Hex => `0x${randomBytes(32).toString('hex')}`
