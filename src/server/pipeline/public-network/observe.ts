import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../chain/evm/network.ts'
import type { FindSigner } from '../../chain/evm/signers.ts'
import type { Log } from '../../log.ts'
import { type AttemptRow, attemptsOf } from '../../store/attempts.ts'
import type { Store } from '../../store/open-store.ts'
import { nonceOf, type TransactionRow, updateSigned } from '../../store/transactions.ts'
import { settle } from '../settle.ts'
import { someAtOnce } from '../some-at-once.ts'
import { createBumper } from './bump.ts'
import { settleCancelled } from './cancelled.ts'
import { settleLost } from './lost.ts'

export interface ObserverOptions {
  store: Store
  findSigner: FindSigner
  now: () => number
  log: Log
  /** The receipt is null for a transaction whose nonce was lost to another. */
  onSettled: (transaction: TransactionRow, receipt: EvmReceipt | null) => void
}

/** Looks at claimed transactions once and writes down what became of them; resolves with how many still wait. */
export type Observe = (
  network: EvmNetwork,
  publicNetwork: PublicNetwork,
  claimed: readonly TransactionRow[],
) => Promise<number>

/**
 * What becomes of signed transactions on a network whose blocks others make. A transaction that is in no block is
 * handed in again, the same bytes; one that is gets settled once its block is deep enough and still the chain's.
 */
export function createObserver({ store, findSigner, now, log, onSettled }: ObserverOptions): Observe {
  const bumper = createBumper({ store, findSigner, now, log })
  /** Whose nonce was seen used by a stranger once: to be believed it has to be seen again. */
  const suspects = new Set<string>()

  return async (network, publicNetwork, claimed) => {
    const attempts = await attemptsOf(
      store.db,
      claimed.map(({ id }) => id),
    )
    const hashesOf = ({ id, hash }: TransactionRow) => (attempts.get(id)?.map((one) => one.hash) ?? [hash]) as Hex[]
    // Before the receipts: a block that is mined in between makes a depth too small, never too large.
    const head = await publicNetwork.head()
    const mined = await findMined(network, claimed, hashesOf)
    const missing = claimed.filter(({ id }) => !mined.has(id))
    const outcomes = await network.broadcast(missing.map(({ raw }) => raw as Hex))
    const deep = await canonical(publicNetwork, head, [...mined.values()].filter(isDeep(head, network, publicNetwork)))

    const settled = new Set<string>()
    /** One that can't be judged now keeps no other from being settled, or from higher fees. */
    const failures: unknown[] = []
    const settling = someAtOnce(claimed, async (transaction) => {
      const receipt = mined.get(transaction.id)
      if (receipt === undefined || !deep.has(receipt)) return
      const isCancelled = attempts.get(transaction.id)?.some(cancelledBy(receipt)) === true
      const outcome = await (isCancelled ? settleCancelled : settle)({ store, network, transaction, receipt, log })
      if (outcome === 'settled') onSettled(transaction, receipt)
      if (outcome !== 'undecided') settled.add(transaction.id)
    })
    await settling.catch((error: unknown) => failures.push(error))
    const findLost = async (transaction: TransactionRow, reason: string) => {
      const { id, nonce, signer } = transaction
      log.debug({ transaction: id, nonce, reason }, 'the network refused a transaction')
      const foreign = await publicNetwork.isNonceForeign({
        signer: signer as Hex,
        nonce: nonceOf(transaction),
        hashes: hashesOf(transaction),
      })
      if (!foreign) {
        suspects.delete(id)
      } else if (suspects.has(id)) {
        if (await settleLost({ store, network, transaction, now, log })) onSettled(transaction, null)
        suspects.delete(id)
        settled.add(id)
      } else {
        suspects.add(id)
      }
    }
    for (const [index, transaction] of missing.entries()) {
      const outcome = outcomes[index]
      if (outcome?.outcome !== 'rejected') continue
      await findLost(transaction, outcome.reason).catch((error: unknown) => failures.push(error))
    }
    const bumped = await bumper.bump(
      { chainId: network.chainId, publicNetwork },
      missing.filter(({ id }) => !settled.has(id)),
      attempts,
    )
    let waiting = 0
    await someAtOnce(claimed, async (transaction) => {
      const { id } = transaction
      if (settled.has(id)) return
      waiting += 1
      if (bumped.has(id)) return
      await updateSigned(store.db, transaction, {
        attempts: transaction.attempts + 1,
        next_attempt_at: now() + publicNetwork.pollMs,
      })
    })
    if (failures.length > 0) throw failures[0]
    return waiting
  }
}

/** Whether a signing is the one in the block, and nothing but its nonce was used. */
const cancelledBy =
  ({ transactionHash }: EvmReceipt) =>
  ({ hash, cancels }: AttemptRow) =>
    cancels === 1 && hash === transactionHash

/** Of each transaction that is in a block the receipt, whichever of its attempts it was. */
export async function findMined(
  network: EvmNetwork,
  transactions: readonly TransactionRow[],
  hashesOf: (transaction: TransactionRow) => readonly Hex[],
): Promise<Map<string, EvmReceipt>> {
  const asked = transactions.flatMap((transaction) =>
    hashesOf(transaction).map((hash) => ({ id: transaction.id, hash })),
  )
  const receipts = await network.receipts(asked.map(({ hash }) => hash))
  const mined = new Map<string, EvmReceipt>()
  for (const [index, { id }] of asked.entries()) {
    const receipt = receipts[index] ?? null
    if (receipt !== null) mined.set(id, receipt)
  }
  return mined
}

/** A success can be taken back, what follows from a revert can't: new requests are signed for it. */
const isDeep =
  (head: number, { confirmations }: EvmNetwork, { finality }: PublicNetwork) =>
  ({ status, blockNumber }: EvmReceipt): boolean =>
    head - Number(blockNumber) + 1 >= (status === 'success' ? confirmations : finality)

/** Those whose block is still the one at its height. */
async function canonical(
  publicNetwork: PublicNetwork,
  head: number,
  receipts: readonly EvmReceipt[],
): Promise<Set<EvmReceipt>> {
  const numbers = [...new Set(receipts.map(({ blockNumber }) => Number(blockNumber)))]
  const hashes = await publicNetwork.blockHashes(numbers, head)
  const hashAt = new Map(numbers.map((number, index) => [number, hashes[index]]))
  return new Set(receipts.filter(({ blockNumber, blockHash }) => hashAt.get(Number(blockNumber)) === blockHash))
}
