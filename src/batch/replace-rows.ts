import type { Sql } from '../sqlite/shared-database.ts'
import { type Drop, updateDrop } from '../state/drops.ts'
import { keepSent, storeContents } from '../state/edited-rows.ts'
import { pinNames } from '../state/pinned-names.ts'
import { dropFailed } from '../state/row-outcomes.ts'
import type { Gathered } from './gather.ts'
import { isFinished } from './runs/open-stored-run.ts'
import type { StoredRun } from './runs/stored-run.ts'

/**
 * Replaces the rows of a run, and stores the addresses of their names. Sent rows that were edited or removed are kept
 * as they were sent.
 */
export function replaceRows(sql: Sql, drop: Drop, gathered: Gathered, now: number): void {
  const { rows, isRead, changes, fingerprint, localFiles, names } = gathered
  if (rows === 'draft') throw new Error('the rows of a dry run are not entered')
  pinNames(sql, drop.id, names)
  if (changes.changed + changes.removed > 0) keepSent(sql, drop, rows.set)
  // Failed rows that left the manifest don't belong to the run.
  if (isRead) dropFailed(sql, drop, rows.set, now)
  updateDrop(sql, drop.id, {
    set_id: rows.set,
    fingerprint,
    local_files: JSON.stringify(localFiles),
    reading: JSON.stringify(drop.reading),
  })
}

/**
 * Stores the rows of a finished run's manifest, which may be sorted or edited. Results follow the order of the
 * manifest.
 */
export async function enterFinished(store: StoredRun, gathered: Gathered): Promise<void> {
  const { rows, isRead, relocated } = gathered
  if (!isRead || rows === 'draft' || !isFinished(store)) return
  await store.write((sql) => {
    replaceRows(sql, store.drop, gathered, Date.now())
    storeContents(sql, store.drop, rows.set, relocated)
  })
  await store.reload()
}
