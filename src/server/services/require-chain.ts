import { type Blockchain, isEvm, type SolanaBlockchain } from '../../api/blockchains.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { nothingAcceptedError, notReadyError } from './refusals.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 10
const SOLANA_RETRY_SECONDS = 30

/**
 * Rejects requests that can't complete because the network isn't set up, or because its signers can't sign or pay.
 * Accepts requests for an unreachable network, because the network is usually reachable again soon.
 */
export async function requireChain(deps: Pick<ServiceDeps, 'chains' | 'store'>, blockchain: Blockchain): Promise<void> {
  const { chains, store } = deps
  if (!isEvm(blockchain)) return await requireSolana(deps, blockchain)
  if (!chains.remote.has(blockchain)) return
  const problem =
    chains.remote.problem(blockchain, false) ?? (await rejectionMessage(chains.getFactoryAddress(store.db, blockchain)))
  if (problem !== null) throw notReadyError(problem, RETRY_SECONDS)
}

/** Rejects a request if Solana isn't available, for example because this machine can't run the embedded chain. */
async function requireSolana({ chains: { solana } }: Pick<ServiceDeps, 'chains'>, blockchain: SolanaBlockchain) {
  try {
    await solana.check(blockchain)
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'native_missing') throw error
    throw nothingAcceptedError(`${error.message}. ${error.hint}`)
  }
  if (!solana.clusters.has(blockchain)) {
    // Create the signer's key if there is none, so that the transaction that accepts a collection doesn't wait for it.
    await solana.address(blockchain)
    return
  }
  const problem = solana.clusters.problem(blockchain) ?? (await rejectionMessage(solana.address(blockchain)))
  if (problem !== null) throw notReadyError(problem, SOLANA_RETRY_SECONDS)
}

const rejectionMessage = (address: Promise<string>): Promise<string | null> => address.then(() => null, messageOf)
