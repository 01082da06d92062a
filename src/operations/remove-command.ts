import { activeHolderError, thisProcess } from '../core/lock-holder.ts'
import { openState } from '../state/open-state.ts'
import { acquireRun, forgetCommand, leaseOf } from '../state/runs.ts'
import { waitUntilFree } from './leased-run.ts'

/** Removes the record of a single command. @throws GdnError `run_busy` while a process works on it */
export async function removeCommand(stateDir: string, runId: string): Promise<void> {
  const state = await openState(stateDir)
  try {
    const before = await waitUntilFree(state, runId)
    const mine = await thisProcess('batch rm')
    await state.write((sql) => {
      // Another process may have resumed the run in the meantime.
      if (acquireRun(sql, runId, before, mine, Date.now()) === null)
        throw activeHolderError(leaseOf(sql, runId).holder ?? mine)
      forgetCommand(sql, runId)
    })
  } finally {
    state.close()
  }
}
