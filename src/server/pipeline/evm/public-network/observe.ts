import { parseTransaction } from 'viem'
import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import { type AttemptRow, attemptsOf, CANCELS } from '../../../store/attempts.ts'
import { nonceOf, type TransactionRow } from '../../../store/transactions.ts'
import type { Observation, Outcome } from '../../driver.ts'
import { type BumperOptions, createBumper } from './bump.ts'

/** Looks up claimed transactions once, and returns the results in their order. */
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
  /** Transactions whose nonce was seen used by another transaction once; it takes two observations to accept that. */
  const suspects = new Set<string>()

  return async (network, publicNetwork, claimed) => {
    if (claimed.length === 0) return []
    const attempts = await attemptsOf(
      store.db,
      claimed.map(({ id }) => id),
    )
    const hashesOf = ({ id, hash }: TransactionRow) => (attempts.get(id)?.map((one) => one.hash) ?? [hash]) as Hex[]
    // Before the receipts, so that a block mined in between makes the depth too small, never too large.
    const head = await publicNetwork.head()
    const mined = await findMined(network, claimed, hashesOf)
    const missing = claimed.filter(({ id }) => !mined.has(id))
    const outcomes = await network.broadcast(missing.map(({ raw }) => raw as Hex))
    const deep = await canonical(publicNetwork, head, [...mined.values()].filter(isDeep(head, network, publicNetwork)))

    for (const id of mined.keys()) suspects.delete(id)
    const lost = new Set<string>()
    const findLost = async (transaction: TransactionRow, reason: string) => {
      const { id, signer } = transaction
      const nonce = nonceOf(transaction)
      log.debug({ transaction: id, nonce, reason }, 'the network rejected a transaction')
      const hashes = hashesOf(transaction)
      if (!(await publicNetwork.isNonceForeign({ signer: signer as Hex, nonce, hashes }))) suspects.delete(id)
      else if (suspects.has(id)) lost.add(id)
      else suspects.add(id)
    }
    const failures = new Map<string, unknown>()
    for (const [index, transaction] of missing.entries()) {
      const outcome = outcomes[index]
      if (outcome?.outcome !== 'rejected') continue
      await findLost(transaction, outcome.reason).catch((error: unknown) => failures.set(transaction.id, error))
    }
    const bumped = await bumper.bump(
      { chainId: network.chainId, request: network.request, broadcast: network.broadcast, publicNetwork },
      missing.filter(({ id }) => !lost.has(id)),
      attempts,
    )
    return claimed.map(({ id, raw }): Observation => {
      const receipt = mined.get(id)
      if (receipt !== undefined && deep.has(receipt)) return outcomeOf(receipt, raw, attempts.get(id))
      if (lost.has(id)) return { state: 'lost', seen: {} }
      const waitMs = bumped.has(id) ? 0 : publicNetwork.pollMs
      const pending = { state: 'signed', waitMs, ...placeOf(receipt, attempts.get(id)) } as const
      return failures.has(id) ? { ...pending, failure: failures.get(id) } : pending
    })
  }
}

/**
 * Returns which signing was mined, and its result. A success is watched until its block is final.
 *
 * @param raw the newest signing
 */
export function outcomeOf(receipt: EvmReceipt, raw: string, attempts: readonly AttemptRow[] = []): Outcome {
  const { transactionHash, blockNumber, blockHash, gasUsed, feePaid, status } = receipt
  const mined = attempts.find(({ hash }) => hash === transactionHash)
  const place = {
    ...{ block_number: Number(blockNumber), block_hash: blockHash, gas_used: String(gasUsed) },
    fee_paid: feePaid === null || !isPossible(receipt, mined?.raw ?? raw) ? null : String(feePaid),
  }
  const signing = mined === undefined ? {} : { hash: mined.hash, raw: mined.raw }
  // It used its nonce and had no other effect.
  if (mined !== undefined && mined.cancels !== CANCELS.nothing) {
    return { state: 'cancelled', seen: { ...place, ...signing }, again: mined.cancels === CANCELS.signing }
  }
  const watched = status === 'success' ? 1 : 0
  return { state: status === 'success' ? 'final' : 'reverted', seen: { ...place, ...signing, watched } }
}

/** Returns the place of a transaction whose block isn't deep enough; null without a block. */
function placeOf(receipt: EvmReceipt | undefined, attempts: readonly AttemptRow[] = []) {
  if (receipt === undefined) return { mined: null, block: null }
  const block = Number(receipt.blockNumber)
  const signing = attempts.find(({ hash }) => hash === receipt.transactionHash)
  const isEmpty = signing !== undefined && signing.cancels !== CANCELS.nothing
  return { mined: isEmpty ? 'cancelled' : receipt.status, block } as const
}

/** No transaction uses less. */
const LEAST_GAS = 21_000n

/**
 * Whether a signing can have paid what a receipt says. A node that returns another price or gas would let its run spend
 * more than its limit, or nothing more. Without a fee, the most that the signing can cost counts.
 */
function isPossible({ gasUsed, feePaid, dataFee = 0n }: EvmReceipt, raw: string): boolean {
  const { gas = 0n, maxFeePerGas, gasPrice } = parseTransaction(raw as Hex)
  const offered = maxFeePerGas ?? gasPrice ?? 0n
  const paid = (feePaid ?? 0n) - dataFee
  if (gasUsed < LEAST_GAS || gasUsed > gas || paid > gasUsed * offered) return false
  return paid > 0n || offered === 0n
}

/** Returns the receipt of each transaction in a block, for any of its signings. */
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

/** A success can be rolled back. The consequences of a revert can't: new requests are signed for it. */
const isDeep =
  (head: number, { confirmations }: EvmNetwork, { finality }: PublicNetwork) =>
  ({ status, blockNumber }: EvmReceipt): boolean =>
    head - Number(blockNumber) + 1 >= (status === 'success' ? confirmations : finality)

/** Returns the receipts whose block is still the canonical block at its height. */
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
