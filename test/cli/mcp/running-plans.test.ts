import { beforeEach, expect, test } from 'vitest'
import { Plans } from '../../../src/cli/mcp/plans.ts'
import type { Runner, RunOptions } from '../../../src/cli/mcp/runner.ts'
import { RunningPlans } from '../../../src/cli/mcp/running-plans.ts'
import type { Tool } from '../../../src/cli/mcp/tools.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const BURN = { name: 'nft_burn' } as Tool
const caller = { signal: new AbortController().signal, progress: () => {} }

let folder: string
let plans: Plans
beforeEach(async () => {
  folder = await temporaryFolder('gdn-plans-')
  plans = new Plans(folder)
})

test('a plan that another process starts after the check is continued, not refused', async () => {
  const planned = { tool: BURN.name, values: {}, files: {}, setup: 's', names: 'n' }
  const { plan } = await plans.add(planned, () => ['nft', 'burn'])
  await plans.recordShown(plan.id, { first: { title: 'One' }, second: { title: 'Two' } })
  // The other process has burned the first NFT.
  const runner: Pick<Runner, 'run'> = {
    async run(_argv, { checkPlan }: RunOptions) {
      await checkPlan?.({ second: { title: 'Two' } })
      return { code: 0, data: [], error: null, cost: undefined }
    },
  }
  const running = new RunningPlans(runner as Runner, plans, { callTimeout: 60_000, stop: caller.signal })
  const answer = await running.runPlan(BURN, await plans.get(plan.id), caller, async () => {
    await plans.save({ ...(await plans.get(plan.id)), state: 'started' })
  })
  expect(answer).toMatchObject({ status: 'ok', exit_code: 0 })
  expect(await plans.get(plan.id)).toMatchObject({ state: 'done' })
})
