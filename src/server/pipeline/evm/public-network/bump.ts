import { parseTransaction } from 'viem'
import { highestFees, isTooLow, offeredFees } from '../../../chain/evm/cost/replacement-fees.ts'
import type { Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import type { AttemptRow } from '../../../store/attempts.ts'
import { requireNonce, type TransactionRow } from '../../../store/transactions.ts'
import { createGapFiller } from './fill-gaps.ts'
import { type BumpNetwork, createSignAgain, type PendingSignings, type SignAgainOptions } from './sign-again.ts'

export type BumperOptions = SignAgainOptions

export interface Bumper {
  /** Replaces stuck transactions, and transactions whose replacement an operator requested. Resolves with their IDs. */
  bump(
    network: BumpNetwork,
    missing: readonly TransactionRow[],
    attempts: ReadonlyMap<string, readonly AttemptRow[]>,
  ): Promise<Set<string>>
}

/**
 * Creates the function that raises the fees of stuck transactions. A replacement has the same nonce and call, so only
 * one signed version can ever be mined. Only the transaction with a signer's next nonce can be stuck, and the signer's
 * later transactions wait for it. If the later transactions offer too little, their fees are raised at the same time.
 */
export function createBumper(options: BumperOptions): Bumper {
  const { now } = options
  const signAgain = createSignAgain(options)
  const timeAsNext = watchNextNonces(now)
  const fillGap = createGapFiller(options)

  const isStuck = (
    { transaction, earlierAttempts: earlier }: PendingSignings,
    waits: number,
    { stuckMs }: PublicNetwork,
  ): boolean => {
    const signedAt = earlier.at(-1)?.created_at ?? transaction.created_at
    return Math.min(elapsedMs(signedAt, now()) ?? waits, waits) >= stuckMs
  }

  return {
    async bump(network, missing, attempts) {
      const { publicNetwork } = network
      const bumped = new Set<string>()
      const pending = missing.map((transaction) => ({
        transaction,
        earlierAttempts: attempts.get(transaction.id) ?? [],
      }))
      const firsts = new Map<string, PendingSignings>()
      for (const entry of pending) {
        const { id, signer, requested_action: action } = entry.transaction
        // Replace the transaction even if it doesn't have the next nonce, because nodes accept a replacement of any
        // pending transaction.
        if (action !== null && (await signAgain(network, entry, action))) bumped.add(id)
        if (!firsts.has(signer)) firsts.set(signer, entry)
      }
      const unbumped = [...firsts.values()].filter(({ transaction }) => !bumped.has(transaction.id))
      const waiting = await Promise.all(
        unbumped.map(async ({ transaction }) => {
          const onChain = await publicNetwork.nextNonce(transaction.signer as Hex)
          await fillGap(network, transaction, onChain)
          return timeAsNext(transaction, onChain)
        }),
      )
      for (const [index, first] of unbumped.entries()) {
        if (!isStuck(first, waiting[index] ?? 0, publicNetwork) || !(await signAgain(network, first, null))) continue
        bumped.add(first.transaction.id)
        // Also raise the fees of later transactions that offer too little, which would otherwise get stuck one after
        // the other.
        const suggested = await publicNetwork.suggestFees()
        for (const behind of pending) {
          const { id, signer, raw } = behind.transaction
          if (signer !== first.transaction.signer || bumped.has(id)) continue
          if (!isTooLow(highestFees(offeredFees(parseTransaction(raw as Hex)), behind.earlierAttempts), suggested))
            continue
          if (await signAgain(network, behind, null)) bumped.add(id)
        }
      }
      return bumped
    },
  }
}

/** Returns a function that measures how long, in milliseconds, a transaction has had its signer's next nonce. */
function watchNextNonces(now: () => number) {
  /** The nonce of each signer's next transaction, and the time since which the network has expected this nonce. */
  const next = new Map<string, { nonce: number; since: number }>()
  const waitedMs = (signer: string): number | null => elapsedMs(next.get(signer)?.since ?? now(), now())

  return (transaction: TransactionRow, onChain: number): number => {
    const { signer } = transaction
    const nonce = requireNonce(transaction)
    // Keep the time, because a lagging node returns an earlier nonce.
    if (onChain < nonce) return 0
    if (onChain > nonce) next.delete(signer)
    else if (next.get(signer)?.nonce !== nonce || waitedMs(signer) === null) next.set(signer, { nonce, since: now() })
    return waitedMs(signer) ?? 0
  }
}

/** Returns the milliseconds since `then`. Returns null if the time is in the future, because the clock was set back. */
const elapsedMs = (then: number, now: number): number | null => (then > now ? null : now - then)
