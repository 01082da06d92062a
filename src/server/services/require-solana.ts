import type { SolanaBlockchain } from '../../api/blockchains.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { nothingAccepted, notReady } from './refusal.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 30

/**
 * Returns the address of a Solana blockchain's signer, from which token addresses are derived. Rejects if the machine
 * can't run it as an embedded chain, its cluster isn't set up, or nothing can be paid for.
 */
export async function requireSolana(
  { chains: { solana } }: Pick<ServiceDeps, 'chains'>,
  blockchain: SolanaBlockchain,
): Promise<string> {
  try {
    await solana.check(blockchain)
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'native_missing') throw error
    throw nothingAccepted(`${error.message}. ${error.hint}`)
  }
  if (!solana.clusters.has(blockchain)) return await solana.address(blockchain)
  const problem = solana.clusters.problem(blockchain)
  if (problem !== null) throw notReady(problem, RETRY_SECONDS)
  try {
    return await solana.address(blockchain)
  } catch (error) {
    throw notReady(messageOf(error), RETRY_SECONDS)
  }
}
