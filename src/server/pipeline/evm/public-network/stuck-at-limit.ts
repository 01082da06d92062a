import { stuckReason } from '../../../../api/stuck-reason.ts'
import { formatCoins, formatGwei, maxBigint } from '../../../../core/units.ts'
import { computeReplacements, type Replacement } from '../../../chain/evm/cost/replacements.ts'
import { readRunBudget } from '../../../chain/evm/cost/run-budget.ts'
import { type CurrentFees, hasMaxCost } from '../../../chain/fees.ts'
import { type LimitedRun, listUnminedOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { StuckRun } from '../../facts.ts'

/**
 * Returns the transactions of a run that wait until its limits are raised or fees fall, and the reason; null if there
 * are none. Includes transactions that don't need a replacement yet but couldn't get one. Otherwise, users would be
 * told to add coins, which wouldn't help.
 */
export async function findStuckRun(db: Db, run: LimitedRun, current: CurrentFees): Promise<StuckRun | null> {
  const unmined = await listUnminedOfRun(db, run)
  if (unmined.length === 0) return null
  const { offered, typical, base, data } = current
  const fees = { suggested: { maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }, base, data }
  const { max_fee } = run
  let replacements = await computeReplacements(db, unmined, max_fee, fees)
  const aboveFee = max_fee === null ? undefined : replacements.find(({ raised }) => raised > BigInt(max_fee))
  const flags: string[] = []
  let raisedRun = run
  if (aboveFee !== undefined) {
    const minRaise = (fee: bigint) => (fee * 9n + 7n) / 8n
    const sufficientFee = replacements.reduce(
      (max, replacement) => maxBigint(max, minRaise(replacement.offered)),
      minRaise(typical),
    )
    flags.push(`--max-fee-gwei ${formatGwei(sufficientFee, 'up')}`)
    raisedRun = { ...run, max_fee: String(sufficientFee) }
    replacements = await computeReplacements(db, unmined, raisedRun.max_fee, fees)
  }
  let heldReplacement = aboveFee
  if (hasMaxCost(raisedRun)) {
    // The reserved cost depends on the gas price limit too, so one message names both limits.
    const { max, available, unspent } = await readRunBudget(db, raisedRun, current)
    const sufficientLimit = replacements.reduce((sum, { increase }) => sum + increase, max - available)
    heldReplacement ??= replacements.find(({ increase }) => increase > unspent)
    if (heldReplacement !== undefined && sufficientLimit > max)
      flags.push(`--max-cost ${formatCoins(sufficientLimit, 'up')}`)
  }
  return heldReplacement === undefined ? null : toStuckRun(heldReplacement, unmined, { base, flags })
}

type UnminedTransaction = Awaited<ReturnType<typeof listUnminedOfRun>>[number]

/** Returns why a transaction waits, its ID, and the IDs of the transactions that wait for its nonce. */
function toStuckRun(
  { transaction: { hash, signer, nonce }, offered: offeredWei }: Replacement<UnminedTransaction>,
  unmined: readonly UnminedTransaction[],
  { base, flags }: { base: bigint; flags: readonly string[] },
): StuckRun {
  const behind = unmined.filter(
    (transaction) => transaction.signer === signer && (transaction.nonce ?? 0) >= (nonce ?? 0),
  )
  return {
    reason: stuckReason({ hash, offeredWei, neededWei: base, flags: flags.join(' ') }),
    transactions: new Set(behind.map(({ id }) => id)),
  }
}
