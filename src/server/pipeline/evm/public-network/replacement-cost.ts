import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { emptyCall, feesOf, highestFees, raiseFees } from '../../../chain/evm/cost/replacement-fees.ts'
import { budgetOf, dataCost, worstOfSignings } from '../../../chain/evm/cost/run-budget.ts'
import { limitFees } from '../../../chain/evm/cost/run-fee.ts'
import type { Fees, Hex } from '../../../chain/evm/network.ts'
import { hasMaxCost, type NetworkFees } from '../../../chain/fees.ts'
import { attemptsOf, CANCELS } from '../../../store/attempts.ts'
import { findChain } from '../../../store/chains.ts'
import type { Store } from '../../../store/open-store.ts'
import { limitedRuns } from '../../../store/run-costs.ts'
import type { TransactionAction } from '../../../store/schema.ts'
import type { TransactionRow } from '../../../store/transactions.ts'

/** The fees of a network, as far as they are known. */
export interface ReplacementFees {
  /** `max_fee_gwei` in wei; null if the configuration isn't known. */
  cap: bigint | null
  /** Null if no node has returned them. */
  current: { suggested: Fees; data: NetworkFees['data'] } | null
}

/** The maximum cost of a transaction before and after it is replaced, in wei. */
export interface ReplacementCost {
  before: bigint
  /** The most that it or its replacement can ever cost after the request; null if nothing limits it. */
  after: bigint | null
  limitedBy: 'max_fee_gwei' | 'the limit of its run'
  /** The most that its replacement costs at the current fees; null without them. */
  atCurrentFees: bigint | null
}

const NO_DATA_FEE: NetworkFees['data'] = { bytes: 1, fee: 0n, gas: 0n }

/**
 * Returns what a pending transaction costs if its fees are raised or if it is canceled. Null if it can't be replaced,
 * for which `requestAction` has the reason.
 */
export async function replacementCost(
  { db }: Store,
  row: TransactionRow,
  action: TransactionAction,
  { cap, current }: ReplacementFees,
): Promise<ReplacementCost | null> {
  const chain = await findChain(db, row.blockchain as EvmBlockchain)
  if (row.state !== 'signed' || chain?.network !== 'remote') return null
  const earlier = (await attemptsOf(db, [row.id])).get(row.id) ?? []
  const call = parseTransaction(row.raw as Hex)
  const isCancel = action === 'cancel'
  const cancels = isCancel || (earlier.at(-1)?.cancels ?? CANCELS.nothing) !== CANCELS.nothing
  const { data = '0x', gas = 0n } = isCancel ? emptyCall(row.signer as Hex) : call
  const fees = { offered: 0n, data: current?.data ?? NO_DATA_FEE }
  // Its signature and the rest of its envelope are as long as before.
  const bytes = Math.ceil((row.raw.length - (call.data ?? '0x').length + data.length) / 2)
  const before = worstOfSignings([row.raw, ...earlier.map(({ raw }) => raw)], fees)
  const costAt = (price: bigint) => atLeast(before, gas * price + dataCost(bytes, fees))

  const { run: runName, run_collection_id: collectionId } = row
  const runs = runName === null || collectionId === null ? [] : await limitedRuns(db, collectionId)
  const run = runs.find((one) => one.run === runName)
  const maxFee = cancels ? null : (run?.max_fee ?? null)
  const limits: Pick<ReplacementCost, 'after' | 'limitedBy'>[] = []
  if (cap !== null) limits.push({ after: costAt(cap), limitedBy: 'max_fee_gwei' })
  if (maxFee !== null) limits.push({ after: costAt(BigInt(maxFee)), limitedBy: 'the limit of its run' })
  if (run !== undefined && hasMaxCost(run)) {
    // Not less what others reserve: once they are final, what they haven't paid is left for this one.
    const { max, paid } = await budgetOf(db, run, fees)
    limits.push({ after: atLeast(before, max - paid), limitedBy: 'the limit of its run' })
  }
  const lowest = limits.reduce<(typeof limits)[number] | null>(
    (low, one) => (low === null || (one.after ?? 0n) < (low.after ?? 0n) ? one : low),
    null,
  )
  const atCurrentFees =
    current === null
      ? null
      : costAt(raiseFees(highestFees(feesOf(call), earlier), limitFees(current.suggested, maxFee)).maxFeePerGas)
  return { before, after: null, limitedBy: 'max_fee_gwei', ...lowest, atCurrentFees }
}

const atLeast = (least: bigint, amount: bigint): bigint => (amount > least ? amount : least)
