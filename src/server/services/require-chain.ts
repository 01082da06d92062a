import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { messageOf } from '../../core/errors.ts'
import { notReady } from './refusal.ts'
import { requireSolana } from './require-solana.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 10

/**
 * Rejects requests that could never complete: on a network that isn't set up, or whose signers can't sign or pay. An
 * unreachable network rejects nothing, because it is temporary.
 */
export async function requireChain(deps: Pick<ServiceDeps, 'chains' | 'store'>, blockchain: Blockchain): Promise<void> {
  const { chains, store } = deps
  if (!isEvm(blockchain)) {
    await requireSolana(deps, blockchain)
    return
  }
  if (!chains.remote.has(blockchain)) return
  const problem =
    chains.remote.problem(blockchain) ??
    (await chains.factory(store.db, blockchain).then(
      () => null,
      (error: unknown) => messageOf(error),
    ))
  if (problem !== null) throw notReady(problem, RETRY_SECONDS)
}
