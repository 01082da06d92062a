import { Ledger } from './ledger.ts'
import { readIndex } from './plan-index.ts'
import { indexPath, type Run, spoolPath } from './run-files.ts'
import { readSpool } from './spool.ts'
import { type Items, survey } from './survey.ts'
import type { ManifestChanges } from './types.ts'

/**
 * How a manifest differs from the rows that a run has planned; null where it is unchanged.
 *
 * @throws GdnError `invalid_manifest` where it has errors now
 */
export async function changesSince({ stateDir, id }: Run, manifest: Items): Promise<ManifestChanges | null> {
  const planned = (await readIndex(indexPath(stateDir, id)))?.fingerprint ?? null
  if (planned !== null && planned === (await manifest.fingerprint?.())) return null
  const rows = () => readSpool(spoolPath(stateDir, id))
  const options = { chunkSize: 1, inOrder: true, retryFailed: false }
  const { changes } = await survey(manifest, rows, new Ledger(), options, { add: () => 0, flushIfFull: async () => {} })
  return changes.added + changes.changed + changes.removed === 0 ? null : changes
}
