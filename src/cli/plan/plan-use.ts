import { partiesOf } from '../../batch/rows/row-text.ts'
import { IN_PROGRESS } from '../../plan/compare.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { openMeter } from '../cost/estimate.ts'
import { type CostReservation, type MaximumUse, maxUseOfChanges, sumOfUses } from '../cost/run-limit.ts'

type ChangeCounts = Record<'update' | 'transfer' | 'burn', number>

/**
 * Returns the gas of a plan's mints, and the number of its other changes by kind. Omits changes that the server has
 * accepted.
 */
async function usageOf(plan: ChangePlan) {
  const counts = { update: 0, transfer: 0, burn: 0 }
  const { dynamic, chunkSize, inOrder } = plan.run
  const mints = new Map<string, { receiver: string; sender: string | null; count: number }>()
  let [last, turns] = ['', 0]
  for await (const { row, changes } of plan.rows()) {
    for (const { action, reason } of changes) {
      if (action === 'mint') {
        const { receiver, sender } = row.row
        const to = partiesOf(row.row)
        if (inOrder && to !== last) turns++
        last = to
        const group = mints.get(`${turns} ${to}`)
        if (group === undefined) mints.set(`${turns} ${to}`, { receiver, sender, count: 1 })
        else group.count++
      } else if ((action === 'update' || action === 'transfer') && reason !== IN_PROGRESS) counts[action]++
    }
  }
  for await (const { action, reason } of plan.burns()) if (action === 'burn' && reason !== IN_PROGRESS) counts.burn++
  const meter = await openMeter(dynamic, chunkSize)
  // Group the mints, because a request has only one receiver.
  for (const { receiver, sender, count } of mints.values()) meter.add(receiver, count, sender)
  return { mints: meter.total(), counts }
}

interface OnlyFlag {
  only?: 'mint' | undefined
}

/** Returns the maximum gas of a plan. Omits changes that the server has accepted. */
export async function maxUseOfPlan(plan: ChangePlan, flags: OnlyFlag): Promise<MaximumUse> {
  const { mints, counts } = await usageOf(plan)
  return sumOfUses([mints.worst, await maxUseOfCounts(counts, flags)])
}

/** Returns the amount that a server reserves for a plan. Omits changes that the server has accepted. */
export async function reservedForPlan(plan: ChangePlan, flags: OnlyFlag): Promise<CostReservation> {
  const { mints, counts } = await usageOf(plan)
  return { ...mints.reserved, changes: await maxUseOfCounts(counts, flags) }
}

async function maxUseOfCounts({ update, transfer, burn }: ChangeCounts, { only }: OnlyFlag): Promise<MaximumUse> {
  const counts = only === 'mint' ? {} : { update, transfer, burn }
  const kinds = Object.entries(counts) as [keyof ChangeCounts, number][]
  return sumOfUses(await Promise.all(kinds.map(([kind, count]) => maxUseOfChanges(kind, count))))
}

/** Returns the typical gas of a plan; null if the plan changes NFTs, because only the maximum of a change is known. */
export async function typicalOfPlan(plan: ChangePlan): Promise<{ gas: bigint; bytes: number } | null> {
  const { update, transfer, burn } = plan.counts
  return update + transfer + burn > 0 ? null : (await usageOf(plan)).mints
}
