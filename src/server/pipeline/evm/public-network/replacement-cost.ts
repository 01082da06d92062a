import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { maxBigint } from '../../../../core/units.ts'
import { emptyCall, highestFees, lowerFees, offeredFees, raiseFees } from '../../../chain/evm/cost/replacement-fees.ts'
import { dataCost, maxCostOfSignings, readRunBudget } from '../../../chain/evm/cost/run-budget.ts'
import { limitFees } from '../../../chain/evm/cost/run-fee.ts'
import type { Fees, Hex } from '../../../chain/evm/network.ts'
import { hasMaxCost, type NetworkFees } from '../../../chain/fees.ts'
import { CANCELS, listAttempts } from '../../../store/attempts.ts'
import { findChain } from '../../../store/chains.ts'
import type { Store } from '../../../store/open-store.ts'
import type { TransactionAction } from '../../../store/schema.ts'
import { combineActions, type TransactionRow } from '../../../store/transactions.ts'
import { findLimitedRun } from '../limit-fees.ts'

/** The limit and the current fees of a network, each null if it isn't known. */
export interface ReplacementFees {
  /** The network's `max_fee_gwei` in wei; null if its configuration isn't known. */
  cap: bigint | null
  /** The current fees. Null if no node has returned them. */
  current: { suggested: Fees; data: NetworkFees['data'] } | null
}

/** The maximum cost of a transaction before and after it is replaced, in wei. */
export interface ReplacementCost {
  /** Whether a cancellation is signed or requested. */
  isCanceled: boolean
  before: bigint
  /**
   * The maximum cost after the request, regardless of which signed version is mined; null if nothing limits the cost.
   */
  after: bigint | null
  limitedBy: 'max_fee_gwei' | 'the limit of its run'
  /** The maximum cost of the replacement at the current fees; null if the fees are unknown. */
  atCurrentFees: bigint | null
  /**
   * The limit that prevents a replacement at the current fees; null if no limit prevents it or the fees are unknown.
   */
  waitsFor: { limit: ReplacementCost['limitedBy']; needed: bigint; left: bigint } | null
}

/** A limit on the cost of a transaction. */
interface CostLimit extends Pick<ReplacementCost, 'limitedBy'> {
  maxCost: bigint
  /** The maximum cost of a replacement that is signed now. */
  costNow: bigint
}

const NO_DATA_FEE: NetworkFees['data'] = { bytes: 1, fee: 0n, gas: 0n }

/**
 * Returns the maximum cost of a pending transaction before and after its fees are raised or it is canceled. Returns
 * null if it can't be replaced; `requestAction` gives the reason.
 */
export async function replacementCost(
  { db }: Store,
  row: TransactionRow,
  action: TransactionAction,
  { cap, current }: ReplacementFees,
): Promise<ReplacementCost | null> {
  const chain = await findChain(db, row.blockchain as EvmBlockchain)
  if (row.state !== 'signed' || chain?.network !== 'remote') return null
  const earlier = (await listAttempts(db, [row.id])).get(row.id) ?? []
  const call = parseTransaction(row.raw as Hex)
  const isCancel = combineActions(row, action) === 'cancel'
  const last = earlier.at(-1)?.cancels ?? CANCELS.nothing
  const cancels = isCancel || last !== CANCELS.nothing
  const { data = '0x', gas = 0n } = isCancel ? emptyCall(row.signer as Hex) : call
  const fees = { offered: 0n, data: current?.data ?? NO_DATA_FEE }
  // The signature and the rest of the envelope have the same length in the replacement.
  const bytes = Math.ceil((row.raw.length - (call.data ?? '0x').length + data.length) / 2)
  const before = maxCostOfSignings([row.raw, ...earlier.map(({ raw }) => raw)], fees)
  const exactCostAt = (price: bigint) => gas * price + dataCost(bytes, fees)
  const costAt = (price: bigint) => maxBigint(before, exactCostAt(price))

  const run = await findLimitedRun(db, row)
  const maxFee = cancels ? null : (run?.max_fee ?? null)
  const limits: CostLimit[] = []
  const limitPrice = (price: bigint, limitedBy: CostLimit['limitedBy']) =>
    limits.push({ maxCost: costAt(price), costNow: exactCostAt(price), limitedBy })
  if (cap !== null) limitPrice(cap, 'max_fee_gwei')
  if (maxFee !== null) limitPrice(BigInt(maxFee), 'the limit of its run')
  if (run !== null && hasMaxCost(run)) {
    const { max, paid, unspent } = await readRunBudget(db, run, fees)
    limits.push({
      // Don't subtract the amounts that other transactions reserve. Once those are final, this transaction can use the
      // unpaid part.
      maxCost: maxBigint(before, max - paid),
      costNow: before + maxBigint(0n, unspent),
      limitedBy: 'the limit of its run',
    })
  }
  const lowest = limits.reduce<CostLimit | null>(
    (low, limit) => (low === null || limit.maxCost < low.maxCost ? limit : low),
    null,
  )
  const raiseFee = (suggested: Fees) =>
    raiseFees(highestFees(offeredFees(call), earlier), limitFees(suggested, maxFee)).maxFeePerGas
  const needed = current === null ? null : exactCostAt(raiseFee(lowerFees(current.suggested, 0n)))
  const blockingLimit = limits.find(({ costNow }) => needed !== null && needed > costNow)
  return {
    isCanceled: last === CANCELS.rows || row.requested_action === 'cancel',
    before,
    after: lowest?.maxCost ?? null,
    limitedBy: lowest?.limitedBy ?? 'max_fee_gwei',
    atCurrentFees: current === null ? null : costAt(raiseFee(current.suggested)),
    waitsFor:
      blockingLimit === undefined || needed === null
        ? null
        : { limit: blockingLimit.limitedBy, needed, left: blockingLimit.costNow },
  }
}
