import { EXCESS_ROWS_NOTE, findMaxSupplyProblem, maxSupplyError } from '../../batch/supply.ts'
import { UNKNOWN_OUTCOME_REASON } from '../../plan/mint-changes.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { PlanSource } from './open-plan.ts'

/**
 * Refuses a plan whose mints exceed the maximum supply of the collection. If the plan has rows with an unknown outcome,
 * prints a note instead, because `apply` must resolve these rows.
 *
 * @throws GdnError `refused`
 */
export async function checkPlanMaxSupply(
  { io }: Pick<Deps, 'io'>,
  { client }: Connection,
  { options }: Pick<PlanSource, 'options'>,
  plan: Pick<ChangePlan, 'counts' | 'changes'>,
): Promise<void> {
  let unresolved = 0
  const problem = await findMaxSupplyProblem(client, options, plan.counts.mint, async () => {
    for await (const { action, reason } of plan.changes())
      if (action === 'mint' && reason === UNKNOWN_OUTCOME_REASON) unresolved++
    return unresolved
  })
  if (problem === null) return
  if (unresolved === 0) throw maxSupplyError(problem, options)
  io.note(safe(`${problem}. ${EXCESS_ROWS_NOTE}.`))
}
