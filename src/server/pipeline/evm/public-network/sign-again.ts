import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { messageOf } from '../../../../core/errors.ts'
import { readNetworkFees } from '../../../chain/evm/cost/network-fees.ts'
import {
  chooseFees,
  emptyCall,
  type FeeLimit,
  highestFees,
  lowerFees,
  offeredFees,
} from '../../../chain/evm/cost/replacement-fees.ts'
import { limitFees } from '../../../chain/evm/cost/run-fee.ts'
import type { EvmSignedBytes, FindSigner } from '../../../chain/evm/evm-signer.ts'
import type { EvmNetwork, Fees, Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import type { Log } from '../../../log.ts'
import { updateSignedTransaction } from '../../../state/transactions.ts'
import { type AttemptRow, CANCELS, insertAttempts } from '../../../store/attempts.ts'
import type { Store } from '../../../store/open-store.ts'
import type { TransactionAction } from '../../../store/schema.ts'
import {
  delaysOthers,
  lockTransactionAndReadRun,
  requireNonce,
  type TransactionRow,
} from '../../../store/transactions.ts'
import { findMaxGasPrice, findMaxReplacementFee, mayReplace } from '../limit-fees.ts'

export interface SignAgainOptions {
  store: Store
  findSigner: FindSigner
  now: () => number
  log: Log
  /** Maximum gas price in wei after an increase. Default: only the network's limit applies. */
  maxFee?: bigint | undefined
}

export type BumpNetwork = Pick<EvmNetwork, 'broadcast' | 'chainId' | 'request'> & { publicNetwork: PublicNetwork }

/**
 * A pending transaction and its signed versions, oldest first. `earlierAttempts` is empty if the transaction was signed
 * only once.
 */
export interface PendingSignings {
  transaction: TransactionRow
  earlierAttempts: readonly AttemptRow[]
}

/**
 * The reason why a transaction is signed again. It is the action that the operator requested, or `free` to replace the
 * transaction with an empty one so that later transactions can be mined. Null if the transaction is stuck.
 */
export type ReplacementCause = TransactionAction | 'free' | null

/** A signed version that replaces earlier versions. */
interface Replacement {
  signed: EvmSignedBytes
  fees: Fees
  cancels: number
}

/** The reason why a transaction can't be replaced. */
interface ReplacementRefusal {
  reason: FeeLimit | 'key' | 'funds' | 'signing'
  detail?: string
}

/** The warning for each reason; null if nothing is logged. */
const REFUSAL_WARNINGS: Record<ReplacementRefusal['reason'], string | null> = {
  key: 'a transaction is stuck and the key of its signer is missing',
  run_limit: 'a transaction is stuck and the limit of its run allows no higher fees',
  max_fee: null,
  cap: 'a transaction is stuck and its fees are at the cap',
  far_above: 'a transaction is stuck although its fees are far above the usual fees: raise them with gdn tx bump',
  funds: 'a transaction is stuck and its signer has insufficient funds',
  signing: "a transaction is stuck and can't be signed again",
}

/** Signs a pending transaction again. Resolves with true if the new signed version was stored. */
export type SignAgain = (network: BumpNetwork, pending: PendingSignings, cause: ReplacementCause) => Promise<boolean>

export function createSignAgain(options: SignAgainOptions): SignAgain {
  const { store, log } = options
  /** The logged warnings of each transaction, so that each warning is logged once and not on every poll. */
  const warned = new Map<string, Set<string>>()
  const warnOnce = ({ id, nonce, signer }: TransactionRow, { reason, detail }: ReplacementRefusal) => {
    const givenWarnings = warned.get(id) ?? new Set()
    const warning = detail === undefined ? REFUSAL_WARNINGS[reason] : `${REFUSAL_WARNINGS[reason]}: ${detail}`
    if (warning === null || givenWarnings.has(warning)) return
    warned.set(id, givenWarnings.add(warning))
    log.warn({ transaction: id, nonce, signer }, warning)
  }

  const signAgain: SignAgain = async (network, pending, cause) => {
    const { transaction, earlierAttempts: earlier } = pending
    const cancels = chooseCancels(cause, earlier)
    const giveUp = async (refusal: ReplacementRefusal): Promise<boolean> => {
      warnOnce(transaction, refusal)
      const canFreeNonce = refusal.reason === 'run_limit' && cause === null && cancels === CANCELS.nothing
      if (!canFreeNonce || !(await delaysOthers(store.db, transaction))) return false
      // An empty transaction costs less than the one that it replaces. The rows of the replaced transaction get a new
      // one when the limit allows it.
      return await signAgain(network, pending, 'free')
    }
    const replacement = await signReplacement(options, network, pending, { cause, cancels })
    if ('reason' in replacement) return await giveUp(replacement)
    const result = await storeReplacement(options, network, pending, replacement)
    if (result === 'lost') return false
    if (result !== 'stored') return await giveUp(result)
    const { id, nonce } = transaction
    warned.delete(id)
    const logFields = { transaction: id, nonce, maxFeePerGas: String(replacement.fees.maxFeePerGas) }
    log.info(
      logFields,
      isEmptyReplacement(cause) ? 'an empty transaction was signed for its nonce' : 'fees were raised',
    )
    return true
  }
  return signAgain
}

/** Returns whether the new signed version makes an empty call. */
const isEmptyReplacement = (cause: ReplacementCause): boolean => cause === 'cancel' || cause === 'free'

/** Returns the value of `cancels` for the next signed version. A canceled transaction stays canceled. */
function chooseCancels(cause: ReplacementCause, earlier: readonly AttemptRow[]): number {
  if (cause === 'cancel') return CANCELS.rows
  if (cause === 'free') return CANCELS.signing
  return earlier.at(-1)?.cancels ?? CANCELS.nothing
}

/** Chooses fees, and signs with them. Doesn't store anything. */
async function signReplacement(
  { store, findSigner, maxFee }: SignAgainOptions,
  network: BumpNetwork,
  { transaction, earlierAttempts: earlier }: PendingSignings,
  { cause, cancels }: { cause: ReplacementCause; cancels: number },
): Promise<Replacement | ReplacementRefusal> {
  // Use the signer even if it can't pay for new work, because the stuck transaction may have reserved the signer's
  // funds.
  const signer = await findSigner(transaction.blockchain as EvmBlockchain, transaction.signer)
  if (signer === null) return { reason: 'key' }
  const { chainId, publicNetwork } = network
  const call = parseTransaction(transaction.raw as Hex)
  const { data = '0x', gas = 0n, to = null } = isEmptyReplacement(cause) ? emptyCall(signer.address) : call
  // The gas price limit of the run doesn't apply to a canceled transaction, because other transactions wait for its
  // nonce.
  const runLimit = cancels === CANCELS.nothing ? await findMaxGasPrice(store.db, transaction) : null
  // Suggested fees suffice even if the base fee doubles. A replacement that an operator requested or that frees the
  // nonce may offer less, if the run's limit doesn't allow more.
  const current = cause === null || transaction.run === null ? null : await readNetworkFees(network)
  const signings = [transaction.raw, ...earlier.map(({ raw }) => raw)]
  const maxPayableFee =
    current === null ? null : await findMaxReplacementFee(store.db, current, transaction, signings, { gas, data })
  const suggested = await publicNetwork.suggestFees()
  const fees = chooseFees({
    before: highestFees(offeredFees(call), earlier),
    suggested: limitFees(maxPayableFee === null ? suggested : lowerFees(suggested, maxPayableFee), runLimit),
    runLimit: runLimit === null ? null : BigInt(runLimit),
    maxFee,
    cap: publicNetwork.feeCap,
    isRequested: cause !== null,
  })
  if (typeof fees === 'string') return { reason: fees }
  if (maxPayableFee !== null && fees.maxFeePerGas > maxPayableFee) return { reason: 'run_limit' }
  // Without the funds, nodes reject the replacement, and every new signed version would raise the fees further.
  if ((await publicNetwork.balance(signer.address)) < gas * fees.maxFeePerGas) return { reason: 'funds' }
  try {
    const signed = await signer.sign({ chainId, nonce: requireNonce(transaction), to, data, gas, fees })
    return { signed, fees, cancels }
  } catch (error) {
    return { reason: 'signing', detail: messageOf(error) }
  }
}

/**
 * Stores a replacement before it is sent, so that every signed version that may be mined is recorded.
 *
 * @returns `lost` if the claim on the transaction was lost, or if its run got a limit after it was read
 */
async function storeReplacement(
  { store, now }: SignAgainOptions,
  { request, publicNetwork }: BumpNetwork,
  { transaction, earlierAttempts: earlier }: PendingSignings,
  { signed: { raw, hash }, fees, cancels }: Replacement,
): Promise<'stored' | 'lost' | ReplacementRefusal> {
  const current = transaction.run === null ? null : await readNetworkFees({ request, publicNetwork })
  const signings = [transaction.raw, ...earlier.map((attempt) => attempt.raw)]
  return await store.transaction(async (db) => {
    // Stop if a limit was set on the run after the transaction was read, because the new transaction would have to
    // count toward the limit.
    if (transaction.run === null && (await lockTransactionAndReadRun(db, transaction)) !== null) return 'lost'
    if (!(await mayReplace(db, current, transaction, signings, raw))) return { reason: 'run_limit' }
    if (
      !(await updateSignedTransaction(db, transaction, { raw, hash, next_attempt_at: now(), requested_action: null }))
    ) {
      return 'lost'
    }
    const first = {
      ...transaction,
      fees: offeredFees(parseTransaction(transaction.raw as Hex)),
      cancels: CANCELS.nothing,
    }
    const next = { raw, hash, fees, created_at: now(), cancels }
    await insertAttempts(db, [
      ...(earlier.length === 0 ? [toAttemptRow(transaction, 0, first)] : []),
      toAttemptRow(transaction, Math.max(1, earlier.length), next),
    ])
    return 'stored'
  })
}

const toAttemptRow = (
  { id }: TransactionRow,
  number: number,
  {
    raw,
    hash,
    fees,
    created_at,
    cancels,
  }: Pick<AttemptRow, 'raw' | 'hash' | 'created_at' | 'cancels'> & { fees: Fees },
) => ({
  transaction_id: id,
  number,
  raw,
  hash,
  max_fee_per_gas: String(fees.maxFeePerGas),
  max_priority_fee_per_gas: String(fees.maxPriorityFeePerGas),
  created_at,
  cancels,
})
