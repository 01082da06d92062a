import { PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import { isUnrevealed, readDrop } from '../state/drops.ts'
import { openStateIfThere, type StateReader } from '../state/open-state.ts'
import { areOnOtherLines, pageOf, pagesOf, rowsAt } from '../state/rows.ts'
import { changesFrom, readRows } from './gather.ts'
import { keptRow } from './rows/manifest-row.ts'
import { shownKey } from './rows/row-key.ts'
import { RunStore } from './runs/run-store.ts'
import type { Items, ManifestChanges, Run } from './types.ts'

/** How a changed manifest differs from the planned rows of a run. */
export interface ChangesSince {
  /** Null if both have the same rows. */
  changes: ManifestChanges | null
  /** The keys of rows whose content differs from the sent or planned content. */
  edited: ReadonlySet<string>
  /** Whether rows are on other lines than in the run. */
  isRearranged: boolean
  /** Number of failed rows that the manifest no longer has as planned. */
  failed: number
  /** The rows that are new in the manifest or have other content in the run. */
  rows: { kind: 'new' | 'edited'; key: string; line: number; title: string }[]
}

/**
 * Compares a manifest with the planned rows of a run. Returns null if the file is unchanged.
 *
 * @param isAsCommitted whether the manifest is the one that an unrevealed drop has committed to. Its rows differ from
 *   the placeholders until they are revealed, but they aren't edited.
 * @throws GdnError `invalid_manifest` if the manifest has errors
 */
export async function changesSince(
  { stateDir, id }: Run,
  manifest: Items,
  isAsCommitted: () => Promise<boolean>,
): Promise<ChangesSince | null> {
  const state = await openStateIfThere(stateDir)
  try {
    const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
    if (state === null || drop === null || drop.setId === null) return null
    if (drop.fingerprint !== null && drop.fingerprint === (await manifest.fingerprint?.())) return null
    const store = new RunStore(state, drop, null)
    await readRows(store, manifest, 'draft')
    const same = isUnrevealed(drop) && (await isAsCommitted()) ? await unrevealedRows(state, drop.setId) : []
    const { changes, differing } = await changesFrom(store, 'draft', drop.setId, same)
    const present = differing.filter(({ kind }) => kind !== 'removed')
    const positions = present.map(({ position }) => position)
    const read = await state.read((sql) => rowsAt(sql, 'draft', positions))
    const rows = read.map((record, at) => {
      const { line, metadata } = keptRow(record).row
      const kind = present[at]?.kind === 'added' ? ('new' as const) : ('edited' as const)
      return { kind, key: shownKey(record.key), line, title: metadata.title }
    })
    const edited = new Set(differing.flatMap(({ kind, key }) => (kind === 'changed' ? key : [])))
    const failed = differing.filter((row) => row.kind !== 'added' && row.state === 'failed').length
    const isRearranged = await state.read((sql) => areOnOtherLines(sql, drop))
    return { changes: differing.length === 0 ? null : changes, edited, isRearranged, failed, rows }
  } finally {
    state?.close()
  }
}

/** Returns the positions of rows that are stored as placeholders. */
async function unrevealedRows(state: StateReader, set: number): Promise<number[]> {
  const positions: number[] = []
  const pages = pagesOf(state, (sql, after, limit) => pageOf(sql, { set }, after, limit))
  for await (const page of pages) {
    for (const record of page) {
      if (Object.hasOwn(keptRow(record).row.metadata, PROVENANCE_ROW)) positions.push(record.position)
    }
  }
  return positions
}
