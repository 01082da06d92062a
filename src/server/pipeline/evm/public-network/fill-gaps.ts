import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { messageOf } from '../../../../core/errors.ts'
import { emptyCall } from '../../../chain/evm/cost/replacement-fees.ts'
import { findTransactionByNonce, requireNonce, type TransactionRow } from '../../../store/transactions.ts'
import type { BumpNetwork, SignAgainOptions } from './sign-again.ts'

/** Maximum number of nonces that are filled at once. */
const MAX_FILLED_NONCES = 16

/**
 * Returns a function that sends empty transactions for nonces that the network expects but that no transaction has.
 * Otherwise, later transactions would wait forever. Such gaps arise if a node wrongly reported a nonce as used. They
 * also arise if a reorg removed transactions that a restored database doesn't have, after the database skipped their
 * nonces. The empty transactions aren't recorded, because another transaction with the same nonce may replace them.
 */
export function createGapFiller({ store, findSigner, now, log, maxFee }: SignAgainOptions) {
  /** The nonce that the network expects of each signer, and the time since which it has expected this nonce. */
  const gaps = new Map<string, { nonce: number; since: number }>()

  /**
   * Fills the gap before a signer's pending transactions.
   *
   * @param first the first pending transaction of a signer
   * @param onChain the nonce that the network expects of this signer
   */
  return async (network: BumpNetwork, first: TransactionRow, onChain: number): Promise<void> => {
    const { signer, blockchain } = first
    const { publicNetwork } = network
    const nonce = requireNonce(first)
    const gap = gaps.get(signer)
    if (onChain >= nonce) gaps.delete(signer)
    // Restart the time if the nonce has changed. If a lagging node returned this nonce, other nodes soon return a later
    // one.
    else if (gap?.nonce !== onChain || gap.since > now()) gaps.set(signer, { nonce: onChain, since: now() })
    else if (now() - gap.since >= publicNetwork.stuckMs) {
      gaps.delete(signer)
      const key = await findSigner(blockchain as EvmBlockchain, signer)
      if (key === null) return
      const missing: number[] = []
      for (let at = onChain; at < nonce && missing.length < MAX_FILLED_NONCES; at++) {
        const ownTransaction = await findTransactionByNonce(store.db, blockchain as EvmBlockchain, signer, at)
        if (ownTransaction !== null && ownTransaction.state !== 'lost') break
        missing.push(at)
      }
      if (missing.length === 0) return
      const fees = await publicNetwork.suggestFees()
      if (maxFee !== undefined && fees.maxFeePerGas > maxFee) return
      try {
        const call = { chainId: network.chainId, ...emptyCall(key.address), fees }
        const signed = await Promise.all(missing.map((missingNonce) => key.sign({ ...call, nonce: missingNonce })))
        log.warn({ signer, nonces: missing }, 'the next nonces of a signer are unused: sending empty transactions')
        await network.broadcast(signed.map(({ raw }) => raw))
      } catch (error) {
        // Don't rethrow, so that the observation of other transactions continues.
        log.warn({ signer, nonces: missing, reason: messageOf(error) }, 'empty transactions could not be sent')
      }
    }
  }
}
