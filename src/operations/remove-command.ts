import { withState } from '../state/open-state.ts'
import { forgetCommand } from '../state/runs.ts'
import { acquire, findBusyRun } from './leased-run.ts'

/**
 * Removes the record of a single command.
 *
 * @throws GdnError `run_busy` while a process works on the command
 */
export async function removeCommand(stateDir: string, runId: string): Promise<void> {
  await withState(stateDir, async (state) => {
    await acquire(state, (sql) => {
      const busyRun = findBusyRun(sql, runId)
      if (busyRun !== null) return busyRun
      forgetCommand(sql, runId)
      return { kind: 'taken' }
    })
  })
}
