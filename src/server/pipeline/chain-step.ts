import { backoffMs } from '../../core/backoff.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import { claimSigned, nextSignedDue, type TransactionRow, updateSigned } from '../store/transactions.ts'
import type { ChainObserver, Observation, Outcome } from './driver.ts'
import { claimMoment, leaseMs, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'
import { type Settlement, settle } from './settle.ts'

/** Of a database that is reached by a network each answer takes its time; one in the process answers at once anyway. */
const AT_ONCE = 8

const LEASE_MS = 60_000
/** Where others have claimed what is due, or it isn't due yet by the clock of the database. */
const IDLE_MS = 100

export interface ChainStepOptions {
  store: Store
  driver: ChainObserver
  now: () => number
  log: Log
  /** A transaction is finished; its collection (null for a factory and for transfers) may be worked on again. */
  onSettled: (transaction: TransactionRow, outcome: Outcome) => void
}

type Pending = Extract<Observation, { state: 'signed' }>

/** Sends what is signed for a blockchain, the same bytes each time, and records the outcome. */
export function createChainStep({ store, driver, now, log, onSettled }: ChainStepOptions): Turn {
  const { blockchain } = driver

  const postpone = async (transaction: TransactionRow, { waitMs, refusal }: Pending): Promise<void> => {
    // Refusals in a row, not looks: what was looked at for a minute would be left alone for another.
    const attempts = refusal === undefined ? 0 : transaction.attempts + 1
    if (refusal !== undefined) {
      const facts = { blockchain, transaction: transaction.id, reason: refusal }
      log.warn(facts, 'the network refused a transaction; the same bytes will be sent again')
    }
    const next_attempt_at = now() + (refusal === undefined ? waitMs : backoffMs(attempts))
    await updateSigned(store.db, transaction, { attempts, next_attempt_at })
  }

  /** Settles what has ended in one commit. What can't be judged holds up none of the others. */
  const settleTogether = async (
    ended: readonly (readonly [TransactionRow, Outcome])[],
    failures: unknown[],
  ): Promise<void> => {
    const settlements: Settlement[] = []
    for (const [transaction, outcome] of ended) {
      try {
        const verdict = await driver.judge(transaction, outcome)
        if (verdict.verdict === 'wait') await postpone(transaction, { state: 'signed', waitMs: verdict.waitMs })
        else settlements.push({ transaction, outcome, verdict })
      } catch (error) {
        failures.push(error)
      }
    }
    for (const { transaction, outcome } of await settle({ store, log }, settlements)) onSettled(transaction, outcome)
  }

  const work = async (claimed: readonly TransactionRow[]): Promise<void> => {
    const observed = await driver.observe(claimed)
    const ended: [TransactionRow, Outcome][] = []
    const pending: [TransactionRow, Pending][] = []
    for (const [index, transaction] of claimed.entries()) {
      const seen = observed[index]
      if (seen === undefined) throw new Error(`the transaction ${transaction.id} was not looked up`)
      if (seen.state === 'signed') pending.push([transaction, seen])
      else ended.push([transaction, seen])
    }
    const commits = Array.from({ length: Math.ceil(ended.length / driver.commitSize) }, (_, index) =>
      ended.slice(index * driver.commitSize, (index + 1) * driver.commitSize),
    )
    const failures = pending.flatMap(([, { failure }]) => (failure === undefined ? [] : [failure]))
    await someAtOnce(commits, (together) => settleTogether(together, failures))
    await someAtOnce(pending, ([transaction, seen]) => postpone(transaction, seen))
    if (failures.length > 0) throw failures[0]
  }

  return async () => {
    const options = { now: claimMoment(store, now), leaseMs: leaseMs(store, LEASE_MS), limit: driver.claimSize }
    const claimed = await claimSigned(store.db, blockchain, options)
    let watch: number | null = null
    try {
      if (claimed.length > 0) await withLeases(store, 'transactions', claimed, () => work(claimed))
    } catch (error) {
      // Given back at once, those already settled excepted: nobody should wait for the lease to end.
      for (const transaction of claimed) {
        await updateSigned(store.db, transaction, { attempts: transaction.attempts + 1, next_attempt_at: now() })
      }
      throw error
    } finally {
      watch = (await driver.watch?.()) ?? null
    }
    const due = await nextSignedDue(store.db, blockchain)
    const wait = due === null ? null : Math.max(claimed.length > 0 ? 0 : IDLE_MS, due - now())
    return wait === null || watch === null ? (wait ?? watch) : Math.min(wait, watch)
  }
}

/** Does the work for each item, for several at once. All of it is over when this resolves, or rejects with the first failure. */
async function someAtOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  const failures: unknown[] = []
  const one = async () => {
    for (const item of left) await work(item).catch((error) => failures.push(error))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, one))
  if (failures.length > 0) throw failures[0]
}
