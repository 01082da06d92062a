import { isAtWork, LOCK_TIMING, thisProcess } from '../core/lock-holder.ts'
import { openState } from '../state/open-state.ts'
import { forgetCommand, heldBy, takeRun } from '../state/runs.ts'
import { waitForEnd } from './hold.ts'

/** Removes the record of a single command. @throws GdnError `run_busy` while a process works on it */
export async function removeCommand(stateDir: string, runId: string): Promise<void> {
  const state = await openState(stateDir)
  try {
    const seen = await state.read((sql) => heldBy(sql, runId))
    const { holder } = seen
    if (holder !== null) await waitForEnd(state, { by: { ...seen, holder }, runId }, LOCK_TIMING, undefined)
    const mine = await thisProcess('batch rm')
    await state.write((sql) => {
      // Another process may have resumed it meanwhile.
      if (takeRun(sql, runId, seen, mine, Date.now()) === null) throw isAtWork(heldBy(sql, runId).holder ?? mine)
      forgetCommand(sql, runId)
    })
  } finally {
    state.close()
  }
}
