import { parseTransaction } from 'viem'
import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import { type AttemptRow, CANCELS, listAttempts } from '../../../store/attempts.ts'
import { requireNonce, type TransactionRow } from '../../../store/transactions.ts'
import type { Observation, TransactionOutcome } from '../../driver.ts'
import { type BumperOptions, createBumper } from './bump.ts'

/** Broadcasts and looks up claimed transactions once. Returns the results in the same order. */
export type Observe = (
  network: EvmNetwork,
  publicNetwork: PublicNetwork,
  claimed: readonly TransactionRow[],
) => Promise<Observation[]>

/**
 * Observes transactions on a public network. A transaction that isn't in a block is submitted again with the same
 * bytes, and gets higher fees if it is stuck. A transaction in a block has an outcome once the block is deep enough and
 * still on the chain.
 */
export function createPublicObserver(options: BumperOptions): Observe {
  const { store, log } = options
  const bumper = createBumper(options)
  /**
   * Transactions whose nonce seems to be used by another transaction. They count as lost after a second observation.
   */
  const suspects = new Set<string>()

  return async (network, publicNetwork, claimed) => {
    if (claimed.length === 0) return []
    const attempts = await listAttempts(
      store.db,
      claimed.map(({ id }) => id),
    )
    const hashesOf = ({ id, hash }: TransactionRow) =>
      (attempts.get(id)?.map((attempt) => attempt.hash) ?? [hash]) as Hex[]
    // Read the head before the receipts. If a block is mined between the two reads, the computed depth is too small,
    // but never too large.
    const head = await publicNetwork.head()
    const mined = await findMined(network, claimed, hashesOf)
    const unmined = claimed.filter(({ id }) => !mined.has(id))
    const outcomes = await network.broadcast(unmined.map(({ raw }) => raw as Hex))
    const confirmedReceipts = await canonicalReceipts(
      publicNetwork,
      head,
      [...mined.values()].filter(hasEnoughConfirmations(head, network, publicNetwork)),
    )

    for (const id of mined.keys()) suspects.delete(id)
    const lost = new Set<string>()
    const findLost = async (transaction: TransactionRow, reason: string) => {
      const { id, signer } = transaction
      const nonce = requireNonce(transaction)
      log.debug({ transaction: id, nonce, reason }, 'the network rejected a transaction')
      const hashes = hashesOf(transaction)
      if (!(await publicNetwork.isNonceForeign({ signer: signer as Hex, nonce, hashes }))) suspects.delete(id)
      else if (suspects.has(id)) lost.add(id)
      else suspects.add(id)
    }
    const failures = new Map<string, unknown>()
    for (const [index, transaction] of unmined.entries()) {
      const outcome = outcomes[index]
      if (outcome?.outcome !== 'rejected') continue
      await findLost(transaction, outcome.reason).catch((error: unknown) => failures.set(transaction.id, error))
    }
    const bumped = await bumper.bump(
      { chainId: network.chainId, request: network.request, broadcast: network.broadcast, publicNetwork },
      unmined.filter(({ id }) => !lost.has(id)),
      attempts,
    )
    return claimed.map(({ id, raw }): Observation => {
      const receipt = mined.get(id)
      if (receipt !== undefined && confirmedReceipts.has(receipt))
        return transactionOutcome(receipt, raw, attempts.get(id))
      if (lost.has(id)) return { state: 'lost', seen: {} }
      const waitMs = bumped.has(id) ? 0 : publicNetwork.pollMs
      const pending = { state: 'signed', waitMs, ...minedFields(receipt, attempts.get(id)) } as const
      return failures.has(id) ? { ...pending, failure: failures.get(id) } : pending
    })
  }
}

/**
 * Returns the signed version of a transaction that was mined, and its result. A successful transaction is watched until
 * its block is final.
 *
 * @param raw the newest signed version
 */
export function transactionOutcome(
  receipt: EvmReceipt,
  raw: string,
  attempts: readonly AttemptRow[] = [],
): TransactionOutcome {
  const { transactionHash, blockNumber, blockHash, gasUsed, feePaid, status } = receipt
  const mined = attempts.find(({ hash }) => hash === transactionHash)
  const place = {
    block_number: Number(blockNumber),
    block_hash: blockHash,
    gas_used: String(gasUsed),
    fee_paid: feePaid === null || !isPossibleFee(receipt, mined?.raw ?? raw) ? null : String(feePaid),
  }
  const signing = mined === undefined ? {} : { hash: mined.hash, raw: mined.raw }
  // An empty version of the transaction was mined. It used the nonce and had no other effect.
  if (mined !== undefined && mined.cancels !== CANCELS.nothing) {
    return { state: 'cancelled', seen: { ...place, ...signing }, shouldSignAgain: mined.cancels === CANCELS.signing }
  }
  const watched = status === 'success' ? 1 : 0
  return { state: status === 'success' ? 'final' : 'reverted', seen: { ...place, ...signing, watched } }
}

/**
 * Returns the block and the result of a transaction whose block isn't deep enough; null for both if it is in no block.
 */
function minedFields(receipt: EvmReceipt | undefined, attempts: readonly AttemptRow[] = []) {
  if (receipt === undefined) return { mined: null, block: null }
  const block = Number(receipt.blockNumber)
  const signing = attempts.find(({ hash }) => hash === receipt.transactionHash)
  const isEmpty = signing !== undefined && signing.cancels !== CANCELS.nothing
  return { mined: isEmpty ? 'cancelled' : receipt.status, block } as const
}

/** The minimum amount of gas that any transaction uses. */
const MIN_TRANSACTION_GAS = 21_000n

/**
 * Returns whether a signed version can have paid the fee in a receipt. If a wrong fee or a wrong amount of gas were
 * recorded, the transaction's run could exceed its limit, or would stop too early. If the fee is impossible, the
 * maximum cost of the signed version counts instead.
 */
function isPossibleFee({ gasUsed, feePaid, dataFee = 0n }: EvmReceipt, raw: string): boolean {
  const { gas = 0n, maxFeePerGas, gasPrice } = parseTransaction(raw as Hex)
  const offered = maxFeePerGas ?? gasPrice ?? 0n
  const paid = (feePaid ?? 0n) - dataFee
  if (gasUsed < MIN_TRANSACTION_GAS || gasUsed > gas || paid > gasUsed * offered) return false
  return paid > 0n || offered === 0n
}

/** Returns the receipts of mined transactions by transaction ID, regardless of which signed version was mined. */
export async function findMined(
  network: EvmNetwork,
  transactions: readonly TransactionRow[],
  hashesOf: (transaction: TransactionRow) => readonly Hex[],
): Promise<Map<string, EvmReceipt>> {
  const candidates = transactions.flatMap((transaction) =>
    hashesOf(transaction).map((hash) => ({ id: transaction.id, hash })),
  )
  const receipts = await network.receipts(candidates.map(({ hash }) => hash))
  const mined = new Map<string, EvmReceipt>()
  for (const [index, { id }] of candidates.entries()) {
    const receipt = receipts[index] ?? null
    if (receipt !== null) mined.set(id, receipt)
  }
  return mined
}

/**
 * Returns whether a receipt has enough confirmations. The effects of a successful transaction can be rolled back after
 * a reorg, so `confirmations` suffice. A revert must be final, because its rows are then signed in new transactions.
 */
const hasEnoughConfirmations =
  (head: number, { confirmations }: EvmNetwork, { finality }: PublicNetwork) =>
  ({ status, blockNumber }: EvmReceipt): boolean =>
    head - Number(blockNumber) + 1 >= (status === 'success' ? confirmations : finality)

/** Returns the receipts whose blocks are on the canonical chain. */
async function canonicalReceipts(
  publicNetwork: PublicNetwork,
  head: number,
  receipts: readonly EvmReceipt[],
): Promise<Set<EvmReceipt>> {
  const numbers = [...new Set(receipts.map(({ blockNumber }) => Number(blockNumber)))]
  const hashes = await publicNetwork.blockHashes(numbers, head)
  const hashAt = new Map(numbers.map((number, index) => [number, hashes[index]]))
  return new Set(receipts.filter(({ blockNumber, blockHash }) => hashAt.get(Number(blockNumber)) === blockHash))
}
