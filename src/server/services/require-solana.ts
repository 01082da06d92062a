import { TITLES } from '../../api/errors.ts'
import { GdnError } from '../../core/errors.ts'
import type { SolanaSigner } from '../chain/solana/signer.ts'
import { Refusal } from './refusal.ts'
import type { ServiceDeps } from './services.ts'

/** The signer of this backend's Solana chains, or a refusal where the machine can't run them. */
export async function requireSolana({ chains }: Pick<ServiceDeps, 'chains'>): Promise<SolanaSigner> {
  try {
    await chains.solana.check()
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'native_missing') throw error
    throw new Refusal(503, TITLES.unavailable, `${error.message}; ${error.hint}`)
  }
  return chains.solana.signer()
}
