import { GdnError } from '../../core/errors.ts'
import { acquire } from '../../operations/leased-run.ts'
import { forgetDrop, listFamilyDrops } from '../../state/drops.ts'
import { type OpenStateOptions, openState } from '../../state/open-state.ts'
import { storeDuplicateTexts } from '../../state/row-outcomes.ts'
import type { Run } from '../types.ts'
import { acquiredDrop } from './open-stored-run.ts'

/**
 * Removes all stored data of a run. Only the newest drop of a run can be removed, because drops are numbered and a gap
 * would hide the later drops.
 *
 * @throws GdnError `run_busy` if a process is working on the run, or if the run has a later drop
 */
export async function removeRun(run: Run, open: OpenStateOptions = {}): Promise<void> {
  const { stateDir, id, family, generation, name } = run
  const state = await openState(stateDir, open)
  try {
    await acquire(state, (sql) => {
      const busyRun = acquiredDrop(sql, family)
      if (busyRun !== null) return busyRun
      const later = listFamilyDrops(sql, family).find((drop) => drop.generation > generation && drop.setId !== null)
      if (later !== undefined) {
        throw new GdnError('run_busy', `the run ${name} can't be removed before the later run ${later.name}`, {
          hint: `First, run \`gdn batch rm ${later.name}\`.`,
        })
      }
      storeDuplicateTexts(sql, id)
      forgetDrop(sql, id)
      return { kind: 'taken' }
    })
  } finally {
    state.close()
  }
}
