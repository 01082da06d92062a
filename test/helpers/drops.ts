import { thisProcess } from '../../src/core/lock-holder.ts'
import { insertDrop, updateDrop } from '../../src/state/drops.ts'
import { openState } from '../../src/state/open-state.ts'
import { newSet } from '../../src/state/rows.ts'
import { insertRun } from '../../src/state/runs.ts'

export interface KnownDrop {
  id: string
  name: string
  runName?: string | null
  manifest?: string | null
  at?: string
}

/** Adds a run of a manifest to a state directory. */
export async function enterDrop(stateDir: string, contract: string, drop: KnownDrop): Promise<void> {
  const { id, name, runName = null, manifest = '/x/drop.csv', at = '2026-11-03T10:00:00.000Z' } = drop
  const holder = await thisProcess('batch')
  const state = await openState(stateDir)
  try {
    await state.write((sql) => {
      sql.run('DELETE FROM runs WHERE id = ?', id)
      insertRun(sql, { id, kind: 'manifest', name, note: '', holder, now: Date.parse(at) || 0 })
      const scopes = { scope: '', referenceScope: '' }
      const origin = 'https://api.example'
      insertDrop(sql, {
        ...{ id, contract, manifest, runName, ...scopes, origin, family: id, generation: 1, blockchain: 'polygon' },
        ...{ reading: {}, chunkSize: 50, inOrder: false, maxCost: null, maxFee: null, dynamic: false },
        ...{ again: false, marker: null },
        url: origin,
        backend: { url: origin, id: null, incarnation: null },
      })
      updateDrop(sql, id, { set_id: newSet(sql, id) })
      sql.run('UPDATE runs SET holder = NULL WHERE id = ?', id)
    })
  } finally {
    state.close()
  }
}
