import { stuckReason } from '../../../../api/stuck-reason.ts'
import { inCoins, inGwei, maxBigint } from '../../../../core/units.ts'
import { type Replacement, replacementsOf } from '../../../chain/evm/cost/replacements.ts'
import { budgetOf } from '../../../chain/evm/cost/run-budget.ts'
import { type CurrentFees, hasMaxCost } from '../../../chain/fees.ts'
import { type LimitedRun, unminedOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { StuckRun } from '../../facts.ts'

/**
 * Returns the transactions of a run that wait until its limits are raised or fees fall, and the reason; null if there
 * are none. Includes transactions that don't need a replacement yet but couldn't get one. Otherwise, users would be
 * told to add coins, which wouldn't help.
 */
export async function stuckAtLimit(db: Db, run: LimitedRun, current: CurrentFees): Promise<StuckRun | null> {
  const unmined = await unminedOfRun(db, run)
  if (unmined.length === 0) return null
  const { offered, typical, base, data } = current
  const fees = { suggested: { maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }, base, data }
  const { max_fee } = run
  let low = await replacementsOf(db, unmined, max_fee, fees)
  const aboveFee = max_fee === null ? undefined : low.find(({ raised }) => raised > BigInt(max_fee))
  const flags: string[] = []
  let raisedRun = run
  if (aboveFee !== undefined) {
    const minRaise = (fee: bigint) => (fee * 9n + 7n) / 8n
    const sufficientFee = low.reduce(
      (max, replacement) => maxBigint(max, minRaise(replacement.offered)),
      minRaise(typical),
    )
    flags.push(`--max-fee-gwei ${inGwei(sufficientFee, 'up')}`)
    raisedRun = { ...run, max_fee: String(sufficientFee) }
    low = await replacementsOf(db, unmined, raisedRun.max_fee, fees)
  }
  let heldReplacement = aboveFee
  if (hasMaxCost(raisedRun)) {
    // The reserved cost depends on the gas price limit too, so one message names both limits.
    const { max, available, unspent } = await budgetOf(db, raisedRun, current)
    const sufficientLimit = low.reduce((sum, { increase }) => sum + increase, max - available)
    heldReplacement ??= low.find(({ increase }) => increase > unspent)
    if (heldReplacement !== undefined && sufficientLimit > max)
      flags.push(`--max-cost ${inCoins(sufficientLimit, 'up')}`)
  }
  return heldReplacement === undefined ? null : stuckBehind(heldReplacement, unmined, { base, flags })
}

type Unmined = Awaited<ReturnType<typeof unminedOfRun>>[number]

/** Returns why a transaction waits, its ID, and the IDs of the transactions that wait for its nonce. */
function stuckBehind(
  { transaction: { hash, signer, nonce }, offered }: Replacement<Unmined>,
  unmined: readonly Unmined[],
  { base, flags }: { base: bigint; flags: readonly string[] },
): StuckRun {
  const behind = unmined.filter(
    (transaction) => transaction.signer === signer && (transaction.nonce ?? 0) >= (nonce ?? 0),
  )
  return {
    reason: stuckReason({ hash, offered, needed: base, flags: flags.join(' ') }),
    transactions: new Set(behind.map(({ id }) => id)),
  }
}
