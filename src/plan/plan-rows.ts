import { fileFieldName, isFileField } from '../batch/rows/field-changes.ts'
import { parseStoredRow, type StoredRow } from '../batch/rows/manifest-row.ts'
import { formatKey } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { LocalContents } from '../files/local-content.ts'
import { formatFileName } from '../manifest/local-files.ts'
import { burnsPage, changedPage } from '../state/plan-tables.ts'
import { findRowName, readRowPages, readRowsAt } from '../state/rows.ts'
import type { Update } from './apply-updates.ts'
import type { NftChange } from './compare.ts'
import type { PlannedChange, RowChanges } from './planned.ts'

/**
 * Returns the name of the row whose metadata an NFT gets. In a shuffled drop, this is the row that was drawn for the
 * NFT's slot. The receiver is always that of the slot.
 */
async function findContentRowName(run: StoredRun, { position, key, row: { line } }: StoredRow, drawn?: Uint32Array) {
  const from = drawn?.[position]
  const name = from === undefined ? null : await run.read((sql) => findRowName(sql, 'draft', from - 1))
  return { key: formatKey(name?.key ?? key), line: name?.line ?? line }
}

/** Returns the name of a change's row. The drawn row provides only the metadata, not the receiver or the ID. */
async function findChangeRowName(run: StoredRun, row: StoredRow, { want }: NftChange, drawn?: Uint32Array) {
  if (want === 'update') return { ...(await findContentRowName(run, row, drawn)), title: row.row.metadata.title }
  // In the draft, a row's own content is at the slot for which the row was drawn. A transferred NFT has the drawn
  // content.
  const at = want === 'mint' ? (drawn?.indexOf(row.position + 1) ?? -1) : -1
  const [drawnRow] = at < 0 ? [] : await run.read((sql) => readRowsAt(sql, 'draft', [at]))
  const { title } = (drawnRow === undefined ? row : parseStoredRow(drawnRow)).row.metadata
  return { key: formatKey(row.key), line: row.row.line, title }
}

/**
 * Yields all changes in the order of the manifest, followed by burns.
 *
 * @param drawn the row that was drawn for each slot of a shuffled drop
 */
export async function* plannedChanges(
  run: StoredRun,
  contents: LocalContents,
  drawn?: Uint32Array,
): AsyncGenerator<PlannedChange> {
  const { manifest } = run.drop
  for await (const { row, changes } of rowsWithChanges(run, 'JOIN')) {
    const { localFiles, receiver, receiverName } = row.row
    const receiverText = receiverName === undefined ? receiver : `${receiverName} (${receiver})`
    const names = new Map(localFiles.map(({ key, path }) => [fileFieldName(key), formatFileName(manifest, path)]))
    for (const change of changes) {
      const shownFields = change.fields.map(({ field, from, to }) => ({
        field,
        from: isFileField(field) && from !== null ? fileName(from) : from,
        to: field === 'receiver' ? receiverText : (names.get(field) ?? to),
      }))
      yield {
        ...change,
        ...(await findChangeRowName(run, row, change, drawn)),
        shown: shownFields,
        receiver: change.action === 'mint' ? receiverText : undefined,
      }
    }
  }
  yield* readBurns(run)

  function fileName(url: string): string {
    const path = contents.findPath(url)
    return path === null ? url : formatFileName(manifest, path)
  }
}

/** Yields the changes of NFTs without a row. */
export async function* readBurns({ state }: StoredRun): AsyncGenerator<PlannedChange> {
  const pages = readRowPages(state, burnsPage)
  for await (const page of pages) for (const { change } of page) yield JSON.parse(change) as PlannedChange
}

/** Yields rows with their changes. `JOIN` omits rows without changes. */
export async function* rowsWithChanges(
  run: StoredRun,
  join: 'JOIN' | 'LEFT JOIN' = 'LEFT JOIN',
): AsyncGenerator<RowChanges> {
  const pages = readRowPages(run.state, (sql, after, limit) => changedPage(sql, join, after, limit))
  for await (const page of pages) {
    for (const { changes, ...record } of page)
      yield { row: parseStoredRow(record), changes: JSON.parse(changes) as NftChange[] }
  }
}

/** Yields the updates. An unchanged file keeps its URL and isn't uploaded again. */
export async function* readUpdates(
  run: StoredRun,
  contents: LocalContents,
  drawn?: Uint32Array,
): AsyncGenerator<Update> {
  for await (const { row: storedRow, changes } of rowsWithChanges(run, 'JOIN')) {
    const { row } = storedRow
    for (const { action, nftGdnId, revision, reference, fields, proof } of changes) {
      if (action !== 'update') continue
      if (nftGdnId === null || reference === null)
        throw new Error('an update without an NFT or reference ID was planned')
      const changed = new Set(fields.map(({ field }) => field))
      const urls = new Map<string, string>()
      const localFiles: Update['localFiles'][number][] = []
      for (const { key, path } of row.localFiles) {
        const { sha256, url } = await contents.read(path)
        if (changed.has(fileFieldName(key))) localFiles.push({ key, path, sha256 })
        else urls.set(key, url)
      }
      const file_fields = row.metadata.file_fields.map(({ key, url }) => ({ key, url: urls.get(key) ?? url }))
      const metadata: Update['metadata'] = { ...row.metadata, file_fields, ...proof }
      yield {
        ...(await findContentRowName(run, storedRow, drawn)),
        nftGdnId,
        reference,
        localFiles,
        metadata,
        replacesRevision: revision ?? 0,
      }
    }
  }
}
