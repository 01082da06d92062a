import { PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { isUnrevealed, readDrop } from '../state/drops.ts'
import { openStateIfExists, type StateReader } from '../state/open-state.ts'
import { areOnOtherLines, readRowPage, readRowPages, readRowsAt } from '../state/rows.ts'
import { compareWithStoredRows, readManifestRows } from './gather.ts'
import { pinStoredNames } from './identity/pinned-names.ts'
import { parseStoredRow } from './rows/manifest-row.ts'
import { isUnsent } from './rows/row-counts.ts'
import { formatKey } from './rows/row-key.ts'
import { StoredRun } from './runs/stored-run.ts'
import type { BatchOptions, Items, ManifestChanges, Run } from './types.ts'

type IsCommitted = (row: ManifestRow, n: number) => Promise<boolean>

/** How a changed manifest differs from the planned rows of a run. */
export interface ManifestComparison {
  /** The changes, or null if the manifest and the run have the same rows. */
  changes: ManifestChanges | null
  /** The keys of rows whose content differs from the sent or planned content. */
  edited: ReadonlySet<string>
  /** Whether any row is on a different line than in the run. */
  isRearranged: boolean
  /** Number of failed rows that were edited, or that are no longer in the manifest. */
  failed: number
  /** Numbers of rows without a sent request that were edited, or that are no longer in the manifest. */
  unsent: { edited: number; removed: number }
  /** Number of absent rows that were edited, or that are no longer in the manifest. */
  absent: number
  /** The rows of the manifest that are new or whose content differs from the run. */
  rows: { kind: 'new' | 'edited'; key: string; line: number; title: string }[]
}

/**
 * Compares a manifest with the planned rows of a run. Returns null if the file is unchanged or the run has not begun.
 *
 * @param committed returns a function that checks whether an unrevealed run has committed to a row as its row `n`.
 *   Until the reveal, such a row differs from its stored placeholder without having been edited. Returns null if the
 *   commitment is unknown.
 * @throws GdnError `invalid_manifest` if the manifest has errors
 */
export async function compareManifestWithRun(
  { stateDir, id }: Run,
  { items, ensNames }: { items: Items } & Pick<BatchOptions, 'ensNames'>,
  committed: () => Promise<IsCommitted | null>,
): Promise<ManifestComparison | null> {
  const state = await openStateIfExists(stateDir)
  try {
    const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
    if (state === null || drop === null || drop.setId === null) return null
    if (drop.fingerprint !== null && drop.fingerprint === (await items.fingerprint?.())) return null
    const run = new StoredRun(state, drop, null)
    await pinStoredNames(run, { ensNames })
    await readManifestRows(run, items, 'draft')
    const isCommitted = isUnrevealed(drop) ? await committed() : null
    const committedPositions = isCommitted === null ? [] : await findCommittedPositions(state, drop.setId, isCommitted)
    const { changes, differing } = await compareWithStoredRows(run, 'draft', drop.setId, committedPositions)
    const present = differing.filter(({ kind }) => kind !== 'removed')
    const positions = present.map(({ position }) => position)
    const records = await state.read((sql) => readRowsAt(sql, 'draft', positions))
    const rows = records.map((record, at) => {
      const { line, metadata } = parseStoredRow(record).row
      const kind = present[at]?.kind === 'added' ? ('new' as const) : ('edited' as const)
      return { kind, key: formatKey(record.key), line, title: metadata.title }
    })
    const edited = new Set(differing.flatMap(({ kind, key }) => (kind === 'changed' ? key : [])))
    const inState = (state: 'failed' | 'absent') =>
      differing.filter((row) => row.kind !== 'added' && row.state === state).length
    const unsent = {
      edited: differing.filter(({ kind, state: was }) => kind === 'changed' && isUnsent(was)).length,
      removed: changes.removedUnsent,
    }
    const isRearranged = await state.read((sql) => areOnOtherLines(sql, drop))
    const counts = { failed: inState('failed'), absent: inState('absent'), unsent }
    return { changes: differing.length === 0 ? null : changes, edited, isRearranged, ...counts, rows }
  } finally {
    state?.close()
  }
}

/** Returns the positions, in the manifest, of the rows that are stored as placeholders and weren't edited. */
async function findCommittedPositions(state: StateReader, set: number, isCommitted: IsCommitted): Promise<number[]> {
  const numbers = new Map<string, number>()
  for await (const page of readRowPages(state, (sql, after, limit) => readRowPage(sql, { set }, after, limit))) {
    for (const record of page) {
      const number = parseStoredRow(record).row.metadata[PROVENANCE_ROW]
      if (number !== undefined) numbers.set(record.key, Number(number))
    }
  }
  const positions: number[] = []
  for await (const page of readRowPages(state, (sql, after, limit) => readRowPage(sql, 'draft', after, limit))) {
    for (const record of page) {
      const number = numbers.get(record.key)
      if (number !== undefined && (await isCommitted(parseStoredRow(record).row, number)))
        positions.push(record.position)
    }
  }
  return positions
}
