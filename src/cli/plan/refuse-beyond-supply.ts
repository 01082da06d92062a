import { refuseBeyondSupply } from '../../batch/supply.ts'
import { UNRESOLVED } from '../../plan/mint-changes.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import type { Connection } from '../deps.ts'
import type { PlanSource } from './open-plan.ts'

/** Refuses a plan whose mints exceed the maximum supply of the collection. @throws GdnError `refused` */
export async function refusePlanBeyondSupply(
  { client }: Connection,
  { options }: Pick<PlanSource, 'options'>,
  plan: Pick<ChangePlan, 'counts' | 'changes'>,
): Promise<void> {
  await refuseBeyondSupply(client, options, plan.counts.mint, async () => {
    let accepted = 0
    for await (const { action, reason } of plan.changes()) if (action === 'mint' && reason === UNRESOLVED) accepted++
    return accepted
  })
}
