import { IN_PROGRESS } from '../../plan/compare.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { openMeter } from '../cost/estimate.ts'
import { sumOf, type WorstUse, worstOfChanges } from '../cost/run-limit.ts'

/**
 * Returns the gas of a plan's mints, and the counts of its other changes. Leaves out changes that the server has
 * accepted.
 */
async function useOf(plan: ChangePlan) {
  const counts = { update: 0, transfer: 0, burn: 0 }
  const mints = new Map<string, { receiver: string; sender: string | null; count: number }>()
  for await (const { row, changes } of plan.rows()) {
    for (const { action, reason } of changes) {
      if (action === 'mint') {
        const { receiver, sender } = row.row
        const group = mints.get(`${sender} ${receiver}`)
        if (group === undefined) mints.set(`${sender} ${receiver}`, { receiver, sender, count: 1 })
        else group.count++
      } else if ((action === 'update' || action === 'transfer') && reason !== IN_PROGRESS) counts[action]++
    }
  }
  for await (const { action, reason } of plan.burns()) if (action === 'burn' && reason !== IN_PROGRESS) counts.burn++
  const meter = await openMeter(plan.run.dynamic)
  // A request mints to one receiver.
  for (const { receiver, sender, count } of mints.values()) meter.add(receiver, count, sender)
  return { mints: meter.total(), counts }
}

/** Returns the maximum gas of a plan. Leaves out changes that the server has accepted. */
export async function worstOfPlan(plan: ChangePlan, { only }: { only?: 'mint' | undefined }): Promise<WorstUse> {
  const { mints, counts } = await useOf(plan)
  if (only === 'mint') return mints.worst
  const kinds = Object.keys(counts) as (keyof typeof counts)[]
  return sumOf([mints.worst, ...(await Promise.all(kinds.map((kind) => worstOfChanges(kind, counts[kind]))))])
}

/** Returns the typical gas of a plan, or null if it changes NFTs, because only the maximum of a change is known. */
export async function typicalOfPlan(plan: ChangePlan): Promise<{ gas: bigint; bytes: number } | null> {
  const { update, transfer, burn } = plan.counts
  return update + transfer + burn > 0 ? null : (await useOf(plan)).mints
}
