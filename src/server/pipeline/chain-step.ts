import { backoffMs } from '../../core/backoff.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import type { Log } from '../log.ts'
import { updateSignedTransaction } from '../state/transactions.ts'
import type { Store } from '../store/open-store.ts'
import { claimSignedTransactions, readNextSignedDueAt, type TransactionRow } from '../store/transactions.ts'
import type { ChainObserver, Observation, TransactionOutcome } from './driver.ts'
import { claimOptions, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'
import { type Settlement, settle } from './settle.ts'

/** Number of transactions that are processed concurrently. Concurrency saves time if the database is remote. */
const MAX_CONCURRENT_TRANSACTIONS = 8

const LEASE_MS = 60_000
/**
 * Delay in milliseconds before the next attempt if no row could be claimed. In that case, other processes have claimed
 * the due rows, or the rows aren't due yet by the database's clock.
 */
const UNCLAIMED_RETRY_MS = 100

export interface ChainStepOptions {
  store: Store
  driver: ChainObserver
  now: () => number
  log: Log
  /**
   * Called when a transaction is settled, so that work on its collection can continue. `collection_id` is null except
   * for the deployment of a collection and for mints.
   */
  onSettled: (transaction: TransactionRow, outcome: TransactionOutcome) => void
  /** Called when a transaction is in a block that isn't deep enough yet. */
  onMined?: (transaction: TransactionRow) => void
}

type SignedObservation = Extract<Observation, { state: 'signed' }>

/**
 * Returns a turn that sends a blockchain's signed transactions and records their outcomes. Each retry sends the same
 * bytes.
 */
export function createChainStep({ store, driver, now, log, onSettled, onMined }: ChainStepOptions): Turn {
  const { blockchain } = driver

  const postpone = async (transaction: TransactionRow, observation: SignedObservation): Promise<void> => {
    const { waitMs, refusal, mined = transaction.mined, block: block_number = transaction.block_number } = observation
    // Count only consecutive rejections. If polls counted too, the delay after a minute of polls would be another
    // minute.
    const attempts = refusal === undefined ? 0 : transaction.attempts + 1
    if (refusal !== undefined) {
      const logFields = { blockchain, transaction: transaction.id, reason: refusal }
      log.warn(logFields, 'the network rejected a transaction; the same bytes will be sent again')
    }
    const next_attempt_at = now() + (refusal === undefined ? waitMs : backoffMs(attempts))
    const isOurs = await updateSignedTransaction(store.db, transaction, {
      attempts,
      next_attempt_at,
      mined,
      block_number,
    })
    if (isOurs && mined !== null && transaction.mined === null) onMined?.(transaction)
  }

  /**
   * Settles finished transactions in one commit. If one outcome can't be judged, the other transactions are still
   * settled.
   */
  const settleTogether = async (
    ended: readonly (readonly [TransactionRow, TransactionOutcome])[],
    failures: unknown[],
  ): Promise<void> => {
    const settlements: Settlement[] = []
    for (const [transaction, outcome] of ended) {
      try {
        const verdict = await driver.judge(transaction, outcome)
        if (verdict.kind === 'wait') await postpone(transaction, { state: 'signed', waitMs: verdict.waitMs })
        else settlements.push({ transaction, outcome, verdict })
      } catch (error) {
        failures.push(error)
      }
    }
    for (const { transaction, outcome } of await settle({ store, log }, settlements)) onSettled(transaction, outcome)
  }

  const work = async (claimed: readonly TransactionRow[]): Promise<void> => {
    const observed = await driver.observe(claimed)
    const ended: [TransactionRow, TransactionOutcome][] = []
    const pending: [TransactionRow, SignedObservation][] = []
    for (const [index, transaction] of claimed.entries()) {
      const observation = observed[index]
      if (observation === undefined) throw new Error(`the transaction ${transaction.id} was not looked up`)
      if (observation.state === 'signed') pending.push([transaction, observation])
      else ended.push([transaction, observation])
    }
    const commits = [...chunksOf(ended, driver.commitSize)]
    const failures = pending.flatMap(([, { failure }]) => (failure === undefined ? [] : [failure]))
    await forEachConcurrently(commits, (together) => settleTogether(together, failures))
    await forEachConcurrently(pending, ([transaction, observation]) => postpone(transaction, observation))
    if (failures.length > 0) throw failures[0]
  }

  return async () => {
    const claimed = await claimSignedTransactions(
      store.db,
      blockchain,
      claimOptions(store, now, LEASE_MS, driver.claimSize),
    )
    let watch: number | null = null
    try {
      if (claimed.length > 0) await withLeases(store, 'transactions', claimed, () => work(claimed))
    } catch (error) {
      // Release all claimed rows, so that they don't wait until the lease expires.
      for (const transaction of claimed) {
        await updateSignedTransaction(store.db, transaction, {
          attempts: transaction.attempts + 1,
          next_attempt_at: now(),
        })
      }
      throw error
    } finally {
      watch = (await driver.watch?.()) ?? null
    }
    const dueAt = await readNextSignedDueAt(store.db, blockchain)
    const wait = dueAt === null ? null : Math.max(claimed.length > 0 ? 0 : UNCLAIMED_RETRY_MS, dueAt - now())
    return wait === null || watch === null ? (wait ?? watch) : Math.min(wait, watch)
  }
}

/**
 * Processes all items, several at once. Waits until all items are processed, even after an error, and then rejects with
 * the first error.
 */
async function forEachConcurrently<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values()
  const failures: unknown[] = []
  const workOnQueue = async () => {
    for (const item of queue) await work(item).catch((error) => failures.push(error))
  }
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_TRANSACTIONS, items.length) }, workOnQueue))
  if (failures.length > 0) throw failures[0]
}
