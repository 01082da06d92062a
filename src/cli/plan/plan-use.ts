import { formatParties } from '../../batch/rows/row-text.ts'
import { IN_PROGRESS_REASON } from '../../plan/compare.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { openMeter } from '../cost/estimate.ts'
import { type CostReservation, estimateMaxChangeUse, type MaximumUse, sumUses } from '../cost/run-limit.ts'

type ChangeCounts = Record<'update' | 'transfer' | 'burn', number>

/**
 * Returns the gas of a plan's mints, and the number of its other changes by kind. Omits changes that the server has
 * accepted.
 */
async function estimateUse(plan: ChangePlan) {
  const counts = { update: 0, transfer: 0, burn: 0 }
  const { dynamic, chunkSize, inOrder } = plan.run
  const mints = new Map<string, { receiver: string; sender: string | null; count: number }>()
  let [last, turns] = ['', 0]
  for await (const { row, changes } of plan.rows()) {
    for (const { action, reason } of changes) {
      if (action === 'mint') {
        const { receiver, sender } = row.row
        const to = formatParties(row.row)
        if (inOrder && to !== last) turns++
        last = to
        const group = mints.get(`${turns} ${to}`)
        if (group === undefined) mints.set(`${turns} ${to}`, { receiver, sender, count: 1 })
        else group.count++
      } else if ((action === 'update' || action === 'transfer') && reason !== IN_PROGRESS_REASON) counts[action]++
    }
  }
  for await (const { action, reason } of plan.burns())
    if (action === 'burn' && reason !== IN_PROGRESS_REASON) counts.burn++
  const meter = await openMeter(dynamic, chunkSize)
  // Group the mints, because a request has only one receiver.
  for (const { receiver, sender, count } of mints.values()) meter.add(receiver, count, sender)
  return { mints: meter.total(), counts }
}

interface OnlyFlag {
  only?: 'mint' | undefined
}

/** Returns the maximum gas of a plan. Omits changes that the server has accepted. */
export async function estimateMaxPlanUse(plan: ChangePlan, flags: OnlyFlag): Promise<MaximumUse> {
  const { mints, counts } = await estimateUse(plan)
  return sumUses([mints.worst, await estimateMaxCountsUse(counts, flags)])
}

/** Returns the amount that a server reserves for a plan. Omits changes that the server has accepted. */
export async function estimatePlanReservation(plan: ChangePlan, flags: OnlyFlag): Promise<CostReservation> {
  const { mints, counts } = await estimateUse(plan)
  return { ...mints.reserved, changes: await estimateMaxCountsUse(counts, flags) }
}

async function estimateMaxCountsUse({ update, transfer, burn }: ChangeCounts, { only }: OnlyFlag): Promise<MaximumUse> {
  const counts = only === 'mint' ? {} : { update, transfer, burn }
  const kinds = Object.entries(counts) as [keyof ChangeCounts, number][]
  return sumUses(await Promise.all(kinds.map(([kind, count]) => estimateMaxChangeUse(kind, count))))
}

/** Returns the typical gas of a plan; null if the plan changes NFTs, because only the maximum of a change is known. */
export async function estimateTypicalPlanUse(plan: ChangePlan): Promise<{ gas: bigint; bytes: number } | null> {
  const { update, transfer, burn } = plan.counts
  return update + transfer + burn > 0 ? null : (await estimateUse(plan)).mints
}
