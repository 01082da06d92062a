import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { messageOf } from '../../../../core/errors.ts'
import { emptyCall } from '../../../chain/evm/cost/replacement-fees.ts'
import { findTransactionByNonce, nonceOf, type TransactionRow } from '../../../store/transactions.ts'
import type { BumpNetwork, SignAgainOptions } from './sign-again.ts'

/** Nonces that are filled at once. */
const MAX_NONCES = 16

/**
 * Sends empty transactions with the nonces that the network expects of a signer and that none of its transactions has.
 * Without them, the pending transactions would wait forever. There are such nonces after a node reported one as used,
 * or after a restored database took over the nonces of transactions that it doesn't have, and that a reorg removed. The
 * empty transactions are not recorded: they only use a nonce, and another one with the same nonce replaces them.
 */
export function createGapFiller({ store, findSigner, now, log, maxFee }: SignAgainOptions) {
  /** By signer: the nonce that the network expects, and since when. */
  const gaps = new Map<string, { nonce: number; since: number }>()

  /** @param onChain the nonce that the network expects of the signer of its first pending transaction */
  return async (network: BumpNetwork, first: TransactionRow, onChain: number): Promise<void> => {
    const { signer, blockchain } = first
    const { publicNetwork } = network
    const nonce = nonceOf(first)
    const gap = gaps.get(signer)
    if (onChain >= nonce) gaps.delete(signer)
    // A lagging node returns an earlier nonce: then the others return a later one meanwhile.
    else if (gap?.nonce !== onChain || gap.since > now()) gaps.set(signer, { nonce: onChain, since: now() })
    else if (now() - gap.since >= publicNetwork.stuckMs) {
      gaps.delete(signer)
      const key = await findSigner(blockchain as EvmBlockchain, signer)
      if (key === null) return
      const missing: number[] = []
      for (let at = onChain; at < nonce && missing.length < MAX_NONCES; at++) {
        const ours = await findTransactionByNonce(store.db, blockchain as EvmBlockchain, signer, at)
        if (ours !== null && ours.state !== 'lost') break
        missing.push(at)
      }
      if (missing.length === 0) return
      const fees = await publicNetwork.suggestFees()
      if (maxFee !== undefined && fees.maxFeePerGas > maxFee) return
      try {
        const call = { chainId: network.chainId, ...emptyCall(key.address), fees }
        const signed = await Promise.all(missing.map((one) => key.sign({ ...call, nonce: one })))
        log.warn({ signer, nonces: missing }, 'no transaction has the next nonces of a signer: sending empty ones')
        await network.broadcast(signed.map(({ raw }) => raw))
      } catch (error) {
        // The other transactions of the network are observed all the same.
        log.warn({ signer, nonces: missing, reason: messageOf(error) }, 'empty transactions could not be sent')
      }
    }
  }
}
