import type { EvmBlockchain } from '../../api/blockchains.ts'
import { backoffMs } from '../../core/backoff.ts'
import type { Chains } from '../chain/chains.ts'
import type { EvmReceipt, Hex } from '../chain/evm/network.ts'
import type { FindSigner } from '../chain/evm/signers.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import { claimSigned, type TransactionRow, updateSigned } from '../store/transactions.ts'
import { hasWatched } from '../store/watched.ts'
import { claimMoment, leaseMs, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'
import { createObserver } from './public-network/observe.ts'
import { watchSettled } from './public-network/reorgs.ts'
import { settle } from './settle.ts'
import { someAtOnce } from './some-at-once.ts'

const LEASE_MS = 60_000
const POLL_MS = 500
const AT_ONCE = 64

export interface ChainStepOptions {
  store: Store
  chains: Pick<Chains, 'network'>
  findSigner: FindSigner
  blockchain: EvmBlockchain
  now: () => number
  log: Log
  /** A transaction is finished; its collection (null for a factory) may be worked on again. */
  onSettled: (transaction: TransactionRow, receipt: EvmReceipt | null) => void
}

/** Sends what is signed for a blockchain, the same bytes each time, and writes down what became of it. */
export function createChainStep(options: ChainStepOptions): Turn {
  const { store, chains, blockchain, now, log, onSettled } = options
  const observePublic = createObserver(options)
  /** Milliseconds until the next look. */
  const observe = async (claimed: readonly TransactionRow[]): Promise<number> => {
    const network = await chains.network(blockchain)
    const { publicNetwork } = network
    if (publicNetwork !== undefined) {
      let [waiting, watched] = [0, 0]
      try {
        if (claimed.length > 0) waiting = await observePublic(network, publicNetwork, claimed)
      } finally {
        watched = await watchSettled({ store, network, publicNetwork, now, log })
      }
      return waiting + watched === 0 ? 0 : publicNetwork.pollMs
    }
    const outcomes = await network.broadcast(claimed.map((transaction) => transaction.raw as Hex))
    const receipts = await network.receipts(claimed.map((transaction) => transaction.hash as Hex))
    let waiting = 0
    await someAtOnce([...claimed.entries()], async ([index, transaction]) => {
      const receipt = receipts[index] ?? null
      if (receipt !== null) {
        const settled = await settle({ store, network, transaction, receipt, log })
        if (settled === 'settled') onSettled(transaction, receipt)
        return
      }
      const outcome = outcomes[index]
      const rejected = outcome?.outcome === 'rejected'
      // Refusals in a row, not looks: what was looked at for a minute would be left alone for another.
      const attempts = rejected ? transaction.attempts + 1 : 0
      if (rejected) {
        const facts = { blockchain, transaction: transaction.id, reason: outcome.reason }
        log.warn(facts, 'the network refused a transaction; the same bytes will be sent again')
      }
      waiting += 1
      await updateSigned(store.db, transaction, {
        attempts,
        next_attempt_at: now() + (rejected ? backoffMs(attempts) : POLL_MS),
      })
    })
    return waiting > 0 ? POLL_MS : 0
  }

  return async () => {
    const claimed = await claimSigned(store.db, blockchain, {
      now: claimMoment(store, now),
      leaseMs: leaseMs(store, LEASE_MS),
      limit: AT_ONCE,
    })
    if (claimed.length === 0 && !(await hasWatched(store.db, blockchain))) return null
    try {
      return await withLeases(store, 'transactions', claimed, () => observe(claimed))
    } catch (error) {
      // Given back at once, those already settled excepted: nobody should wait for the lease to end.
      for (const transaction of claimed) {
        await updateSigned(store.db, transaction, { attempts: transaction.attempts + 1, next_attempt_at: now() })
      }
      throw error
    }
  }
}
