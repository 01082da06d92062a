import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Chains } from '../chain/chains.ts'
import type { EvmReceipt, Hex } from '../chain/evm/network.ts'
import type { Store } from '../store/open-store.ts'
import { claimSigned, type TransactionRow, updateSigned } from '../store/transactions.ts'
import { backoffMs } from './backoff.ts'
import type { Log } from './log.ts'
import type { Turn } from './loop.ts'
import { settle } from './settle.ts'

const LEASE_MS = 60_000
const POLL_MS = 500
const AT_ONCE = 64

export interface ChainStepOptions {
  store: Store
  chains: Chains
  blockchain: EvmBlockchain
  now: () => number
  log: Log
  /** A transaction is finished; its collection (null for a factory) may be worked on again. */
  onSettled: (transaction: TransactionRow, receipt: EvmReceipt) => void
}

/** Sends what is signed for a blockchain, the same bytes each time, and writes down what became of it. */
export function createChainStep({ store, chains, blockchain, now, log, onSettled }: ChainStepOptions): Turn {
  const observe = async (claimed: readonly TransactionRow[]): Promise<number> => {
    const network = await chains.network(blockchain)
    const outcomes = await network.broadcast(claimed.map((transaction) => transaction.raw as Hex))
    const receipts = await network.receipts(claimed.map((transaction) => transaction.hash as Hex))
    const head = network.confirmations > 1 ? Number(await network.request<Hex>('eth_blockNumber', [])) : null
    let waiting = 0
    for (const [index, transaction] of claimed.entries()) {
      const receipt = receipts[index] ?? null
      if (receipt !== null && (head === null || isDeep(receipt, head, network.confirmations))) {
        if (await settle({ store, network, transaction, receipt, log })) onSettled(transaction, receipt)
        continue
      }
      const outcome = outcomes[index]
      const attempts = transaction.attempts + 1
      const rejected = receipt === null && outcome?.outcome === 'rejected'
      if (rejected) {
        const facts = { blockchain, transaction: transaction.id, reason: outcome.reason }
        log.warn(facts, 'the network refused a transaction; the same bytes will be sent again')
      }
      waiting += 1
      await updateSigned(store.db, transaction, {
        attempts,
        next_attempt_at: now() + (rejected ? backoffMs(attempts) : POLL_MS),
      })
    }
    return waiting
  }

  return async () => {
    const claimed = await claimSigned(store.db, blockchain, { now: now(), leaseMs: LEASE_MS, limit: AT_ONCE })
    if (claimed.length === 0) return null
    try {
      return (await observe(claimed)) > 0 ? POLL_MS : 0
    } catch (error) {
      // Given back at once, those already settled excepted: nobody should wait for the lease to end.
      for (const transaction of claimed) {
        await updateSigned(store.db, transaction, { attempts: transaction.attempts + 1, next_attempt_at: now() })
      }
      throw error
    }
  }
}

const isDeep = (receipt: EvmReceipt, head: number, confirmations: number): boolean =>
  head - Number(receipt.blockNumber) + 1 >= confirmations
