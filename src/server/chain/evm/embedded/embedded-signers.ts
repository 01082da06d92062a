import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { GdnError } from '../../../../core/errors.ts'
import { keptSecret, type SecretPlace } from '../../../data-dir/kept-secret.ts'
import type { Signer, Signers } from '../signers.ts'

const FILE = 'signers.json'

const hexKey = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])
const signersFile = z.strictObject({ version: z.literal(1), admin: hexKey, operator: hexKey })

export interface EmbeddedSigners extends Signers {
  readonly admin: Signer
}

/** Loads the code that signs on first use. */
export type LazySigners = () => Promise<EmbeddedSigners>

/**
 * The signing keys of the embedded chains of a data dir, or of a database that processes share, made at random on first
 * use.
 * They are worth nothing elsewhere, and are never used for a chain behind an RPC URL: the chain ids are real ones.
 */
export async function openEmbeddedSigners(dataDir: string, store: SecretPlace['store'] = null): Promise<LazySigners> {
  const { text, place } = await keptSecret(
    { dataDir, file: FILE, store },
    () => `${JSON.stringify({ version: 1, admin: newKey(), operator: newKey() })}\n`,
  )
  const parsed = signersFile.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new GdnError('data_dir', `${place} is damaged or of a newer gdn`, {
      hint: 'restore it from a backup: without it the embedded chains can mint no more',
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

/** A random private key. Of all 32-byte numbers, 1 in 2^128 is none of secp256k1. */
const newKey = () => `0x${randomBytes(32).toString('hex')}`

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
