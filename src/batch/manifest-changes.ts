import { readDrop } from '../state/drops.ts'
import { openStateIfThere } from '../state/open-state.ts'
import { changesFrom, readRows } from './gather.ts'
import { RunStore } from './run-store.ts'
import type { Items, ManifestChanges, Run } from './types.ts'

/**
 * Returns how a manifest differs from the planned rows of a run; null if it is unchanged.
 *
 * @throws GdnError `invalid_manifest` if it has errors now
 */
export async function changesSince({ stateDir, id }: Run, manifest: Items): Promise<ManifestChanges | null> {
  const state = await openStateIfThere(stateDir)
  try {
    const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
    if (state === null || drop === null || drop.setId === null) return null
    if (drop.fingerprint !== null && drop.fingerprint === (await manifest.fingerprint?.())) return null
    const store = new RunStore(state, drop, null)
    await readRows(store, manifest, 'draft')
    const { changes } = await changesFrom(store, 'draft', drop.setId)
    return changes.added + changes.changed + changes.removed === 0 ? null : changes
  } finally {
    state?.close()
  }
}
