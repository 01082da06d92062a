import type { Sql } from '../sqlite/shared-database.ts'
import { type Drop, readDrop, updateDrop } from '../state/drops.ts'
import { operationsOutsideManifest, storeContents, storeSentTexts, unmarkReplaced } from '../state/edited-rows.ts'
import { pinNames } from '../state/pinned-names.ts'
import { releaseRemovedFailedRows } from '../state/row-outcomes.ts'
import type { RowLocation } from '../state/rows.ts'
import { MAX_CHANGE_EXAMPLES, type RowSet } from './gather.ts'
import type { Pair } from './identity/pairing.ts'
import type { EarlierMints } from './minted/earlier-mints.ts'
import { isFinished } from './runs/open-stored-run.ts'
import type { StoredRun } from './runs/stored-run.ts'
import type { ManifestChanges } from './types.ts'

/**
 * Replaces the rows of a run, and stores the addresses of their ENS names. Sent rows that were edited or removed are
 * kept as they were sent.
 */
export function replaceRows(sql: Sql, drop: Drop, gathered: RowSet, now: number): void {
  const { rows, isRead, fingerprint, localFiles, names } = gathered
  if (rows === 'draft') throw new Error('the rows of a dry run are not entered')
  pinNames(sql, drop.id, names)
  // Store the texts even if `gdn apply` has changed the NFTs of edited rows, which then don't count as changed.
  if (isRead) storeSentTexts(sql, drop, rows.set)
  // Failed rows that are no longer in the manifest no longer belong to the run.
  if (isRead) releaseRemovedFailedRows(sql, drop, rows.set, now)
  unmarkReplaced(sql, drop, rows.set)
  updateDrop(sql, drop.id, {
    set_id: rows.set,
    fingerprint,
    local_files: JSON.stringify(localFiles),
    reading: JSON.stringify(drop.reading),
  })
}

/**
 * Stores the rows of a finished run's manifest, because results are in the order of the manifest. The manifest may have
 * been sorted or edited. Stores nothing if the rows differ because the columns were read with other flags.
 */
export async function storeRowsOfFinishedRun(run: StoredRun, gathered: RowSet): Promise<void> {
  const { rows, isRead, relocated } = gathered
  if (!isRead || rows === 'draft' || !isFinished(run)) return
  const { added, changed, removed } = gathered.changes
  await run.write((sql) => {
    // Rows that were read with other flags aren't edited rows.
    const recorded = readDrop(sql, run.drop.id)?.reading
    const hasOtherFlags = JSON.stringify(recorded) !== JSON.stringify(run.drop.reading)
    if (hasOtherFlags && added + changed + removed > 0) return
    replaceRows(sql, run.drop, gathered, Date.now())
    storeContents(sql, run.drop, rows.set, relocated)
  })
  await run.reload()
}

/**
 * Removes and returns the adopted rows whose NFTs belong to sent rows that are no longer in the manifest. An edit
 * changed the keys of these rows, but not their reference IDs, so their operations get the new keys.
 */
export async function takeRenamedRows(run: StoredRun, rows: RowLocation, mints: EarlierMints): Promise<Pair[]> {
  const { drop } = run
  const adopted = new Map(mints.adopted.map(({ nftGdnId, row }) => [nftGdnId, row]))
  if (drop.setId === null || adopted.size === 0) return []
  const otherRows = await run.read((sql) => operationsOutsideManifest(sql, drop, rows, [...adopted.keys()]))
  const renamed = otherRows.flatMap(({ id, nftGdnId, operation, mintedAs }): Pair[] => {
    const row = adopted.get(nftGdnId)
    if (!adopted.delete(nftGdnId) || row === undefined) return []
    return [{ row, nftGdnId, operation, reference: mintedAs, mintedAs, label: null, sent: id, alias: 'stored' }]
  })
  mints.adopted = mints.adopted.filter(({ nftGdnId }) => adopted.has(nftGdnId))
  return renamed
}

/**
 * Returns the changes without rows whose key changed, because such rows were neither added nor removed.
 *
 * @param edited rows whose key and content changed
 */
export function withoutRenamed(
  { added, changed, keptAccepted, removed, removedUnsent, removedFailed, receivers, examples }: ManifestChanges,
  renamed: readonly Pair[],
  edited: readonly Pair[],
): ManifestChanges {
  const lines = new Set(renamed.map(({ row }) => row.row.line))
  const titles = new Set(renamed.map(({ row }) => row.row.metadata.title))
  const unaffected = examples.filter(
    ({ kind, line, key }) => kind === 'changed' || !(kind === 'added' ? lines.has(line) : titles.has(key)),
  )
  const editedExamples = edited.map(({ row: { row } }) => {
    return { kind: 'changed' as const, key: row.id ?? row.metadata.title, line: row.line }
  })
  return {
    added: Math.max(0, added - renamed.length),
    changed: changed + edited.length,
    keptAccepted: keptAccepted + edited.length,
    removed: Math.max(0, removed - renamed.length),
    removedUnsent,
    removedFailed,
    receivers,
    examples: [...unaffected, ...editedExamples].slice(0, MAX_CHANGE_EXAMPLES),
  }
}
