import { parseTransaction } from 'viem'
import { stuckReason } from '../../../../api/stuck-reason.ts'
import { inCoins, inGwei } from '../../../../core/units.ts'
import { budgetOf, dataCost, worstOfSignings } from '../../../chain/evm/cost/run-budget.ts'
import { limitFees } from '../../../chain/evm/cost/run-fee.ts'
import type { Hex } from '../../../chain/evm/network.ts'
import { type CurrentFees, hasMaxCost } from '../../../chain/fees.ts'
import { attemptsOf, CANCELS } from '../../../store/attempts.ts'
import { type LimitedRun, unminedOfRun } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import type { StuckRun } from '../../facts.ts'
import { feesOf, highestFees, raiseFees } from './replacement-fees.ts'

/**
 * Returns what holds the transactions of a run until its limit is raised or fees fall; null if nothing does.
 *
 * @param before when a transaction was signed at the latest to be stuck, in ms
 */
export async function stuckAtLimit(
  db: Db,
  run: LimitedRun,
  current: CurrentFees,
  before: number,
): Promise<StuckRun | null> {
  const unmined = await unminedOfRun(db, run)
  if (unmined.length === 0) return null
  const attempts = await attemptsOf(
    db,
    unmined.map(({ id }) => id),
  )
  const { offered, typical, base } = current
  const suggested = limitFees({ maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }, run.max_fee)
  const low = unmined.flatMap((transaction) => {
    const earlier = attempts.get(transaction.id) ?? []
    const last = earlier.at(-1)
    const call = parseTransaction(transaction.raw as Hex)
    const fees = highestFees(feesOf(call), earlier)
    const isHeld = (last?.created_at ?? transaction.created_at) <= before && fees.maxFeePerGas < base
    if (!isHeld || (last?.cancels ?? CANCELS.nothing) !== CANCELS.nothing) return []
    const raised = raiseFees(fees, suggested).maxFeePerGas
    const signings = [transaction.raw, ...earlier.map(({ raw }) => raw)]
    const cost = (call.gas ?? 0n) * raised + dataCost(transaction.raw.length / 2, current)
    const more = cost - worstOfSignings(signings, current)
    return [{ transaction, offered: fees.maxFeePerGas, raised, more: more > 0n ? more : 0n }]
  })
  const found = (first: (typeof low)[number], flag: string): StuckRun => ({
    reason: stuckReason({ hash: first.transaction.hash, offered: first.offered, needed: base, flag }),
    transactions: new Set(
      unmined.flatMap(({ id, signer, nonce }) =>
        signer === first.transaction.signer && (nonce ?? 0) >= (first.transaction.nonce ?? 0) ? id : [],
      ),
    ),
  })
  const { max_fee } = run
  const aboveFee = max_fee === null ? undefined : low.find(({ raised }) => raised > BigInt(max_fee))
  if (aboveFee !== undefined) {
    const least = [(aboveFee.offered * 9n + 7n) / 8n, (typical * 9n + 7n) / 8n].reduce((a, b) => (a > b ? a : b))
    return found(aboveFee, `--max-fee-gwei ${inGwei(least, 'up')}`)
  }
  if (!hasMaxCost(run)) return null
  const { max, paid, pending, reserved } = await budgetOf(db, run, current)
  const aboveCost = low.find(({ more }) => more > max - paid - pending)
  if (aboveCost === undefined) return null
  const enough = low.reduce((sum, { more }) => sum + more, paid + pending + reserved)
  return found(aboveCost, `--max-cost ${inCoins(enough, 'up')}`)
}
