import { backoffMs } from '../../../core/backoff.ts'
import { claimSigned, nextSignedDue, type TransactionRow, updateSigned } from '../../store/transactions.ts'
import { claimMoment, leaseMs, withLeases } from '../leases.ts'
import type { Turn } from '../loop.ts'
import { signAnew } from './sign-anew.ts'
import { observe, settle } from './solana-settle.ts'
import type { SolanaStepOptions } from './step-options.ts'

const LEASE_MS = 60_000
const POLL_MS = 500
/** Funds that return are seen so soon. */
const FUNDS_MS = 3000
const AT_ONCE = 200

export interface SolanaChainStepOptions extends SolanaStepOptions {
  /** Transactions of this collection are finished. */
  onSettled: (collectionId: string) => void
}

/** Sends what is signed, the same bytes each time, and writes down what became of it. */
export function createSolanaChainStep(options: SolanaChainStepOptions): Turn {
  const { store, solana, blockchain, now, log, onSettled } = options

  const work = async (claimed: readonly TransactionRow[]): Promise<void> => {
    const network = await solana.network(blockchain)
    const outcomes = await network.send(claimed.map(({ raw }) => raw))
    const observed = await observe(network, claimed)
    for (const collectionId of await settle({ store, log }, observed)) onSettled(collectionId)
    // Signed anew for an empty purse, they would only cost their fees.
    const isPayable = !observed.some(({ fate }) => fate === 'expired') || (await solana.affordable(blockchain)) >= 1
    if (!isPayable) log.warn({ blockchain }, 'transactions wait to be signed anew until the signer has funds')
    for (const [index, transaction] of claimed.entries()) {
      const fate = observed[index]?.fate
      if (fate === 'expired' && isPayable) await signAnew({ store, solana, log, now }, network, transaction)
      if (fate === undefined || fate === 'deployed' || fate === 'failed' || (fate === 'expired' && isPayable)) continue
      const outcome = outcomes[index]
      const isRefused = outcome?.outcome === 'rejected'
      if (isRefused) {
        const facts = { blockchain, transaction: transaction.id, reason: outcome.reason }
        log.warn(facts, 'the network refused a transaction; the same bytes will be sent again')
      }
      // Refusals in a row, not looks: what was looked at for a minute would be left alone for another.
      const attempts = isRefused ? transaction.attempts + 1 : 0
      const wait = fate === 'expired' ? FUNDS_MS : isRefused ? backoffMs(attempts) : (network.pollMs ?? POLL_MS)
      const next_attempt_at = now() + wait
      await updateSigned(store.db, transaction, { attempts, next_attempt_at })
    }
  }

  return async () => {
    const claimed = await claimSigned(store.db, blockchain, {
      now: claimMoment(store, now),
      leaseMs: leaseMs(store, LEASE_MS),
      limit: AT_ONCE,
    })
    if (claimed.length > 0) {
      try {
        await withLeases(store, 'transactions', claimed, () => work(claimed))
      } catch (error) {
        // Given back at once, those already settled excepted: nobody should wait for the lease to end.
        for (const transaction of claimed) {
          await updateSigned(store.db, transaction, {
            attempts: transaction.attempts + 1,
            next_attempt_at: now(),
          })
        }
        throw error
      }
    }
    const due = await nextSignedDue(store.db, blockchain)
    return due === null ? null : Math.max(0, due - now())
  }
}
