import { isDeepStrictEqual } from 'node:util'
import { GdnError } from '../../core/errors.ts'
import { activeHolderError } from '../../core/lock-holder.ts'
import { waitUntilFree } from '../../operations/leased-run.ts'
import { dropsOf, forgetDrop } from '../../state/drops.ts'
import { type OpenState, openState } from '../../state/open-state.ts'
import { keepRivals } from '../../state/row-outcomes.ts'
import type { Run } from '../types.ts'

/**
 * Removes all stored data of a run. Only the newest drop of a run can be removed, because drops are numbered and a gap
 * would hide the later ones.
 *
 * @throws GdnError `run_busy` if a process works on the run, or if there is a later run
 */
export async function removeRun(run: Run, open: OpenState = {}): Promise<void> {
  const { stateDir, id, family, generation, name } = run
  const state = await openState(stateDir, open)
  try {
    const drops = await state.read((sql) => dropsOf(sql, family))
    for (const drop of drops) await waitUntilFree(state, drop.id)
    await state.write((sql) => {
      const now = dropsOf(sql, family)
      for (const { id: dropId, holder } of now) {
        // Another process may have resumed the run meanwhile.
        const before = drops.find((drop) => drop.id === dropId)
        if (holder !== null && !isDeepStrictEqual(holder, before?.holder)) throw activeHolderError(holder)
      }
      const later = now.find((drop) => drop.generation > generation && drop.setId !== null)
      if (later !== undefined) {
        throw new GdnError('run_busy', `the run ${name} has a later run, ${later.name}`, {
          hint: `Remove that run first: \`gdn batch rm ${later.name}\`.`,
        })
      }
      keepRivals(sql, id)
      forgetDrop(sql, id)
    })
  } finally {
    state.close()
  }
}
