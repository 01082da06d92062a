import { existsSync } from 'node:fs'
import { GdnError } from '../../core/errors.ts'
import { existingPath } from '../../core/existing-path.ts'
import { sha256OfFile } from '../../core/sha256-of-file.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { type Drop, isListDrop, readUploads } from '../../state/drops.ts'
import type { StateReader } from '../../state/open-state.ts'
import { type RowLocation, readRowPage } from '../../state/rows.ts'
import { fileFieldName, metadataFields } from './field-changes.ts'
import { parseStoredRow, type StoredRow } from './manifest-row.ts'
import { copyHash } from './row-text.ts'

/**
 * Refuses a list of receivers if the row that describes their NFTs was edited after the run began, because receivers
 * would get different NFTs. Compares only the first rows, because the rows of a list differ only in their receivers.
 *
 * @throws GdnError `edited_rows`
 */
export async function refuseEditedListRow(
  { drop, state }: { drop: Drop; state: StateReader },
  rows: RowLocation,
): Promise<void> {
  const { setId } = drop
  if (!isListDrop(drop) || setId === null) return
  const first = async (from: RowLocation) => {
    const [record] = await state.read((sql) => readRowPage(sql, from, -1, 1))
    return record === undefined ? null : { ...parseStoredRow(record).row, receiver: '', receiverName: undefined }
  }
  const [was, now] = [await first({ set: setId }), await first(rows)]
  if (was === null || now === null || copyHash(was) === copyHash(now)) return
  throw editedRowError(drop, editedFields(was, now))
}

/**
 * Refuses to send rows of a list if a local file of the list's row was replaced since the run uploaded its files.
 * Compares the hashes of the files with those of the uploads.
 *
 * @param rows the rows to be sent
 * @throws GdnError `edited_rows`
 */
export async function refuseReplacedFiles(
  { drop, state }: { drop: Drop; state: StateReader },
  [first]: readonly StoredRow[],
): Promise<void> {
  if (!isListDrop(drop) || first === undefined) return
  const uploads = await state.read((sql) => readUploads(sql, drop.id))
  const files: { field: string; hash: string }[] = []
  for (const { key, path } of first.row.localFiles) {
    if (existsSync(existingPath(path))) files.push({ field: fileFieldName(key), hash: await sha256OfFile(path) })
  }
  // If there are fewer uploads than files, the server rejected a file, so nothing was sent.
  if (uploads.size < new Set(files.map(({ hash }) => hash)).size) return
  const replaced = files.filter(({ hash }) => !uploads.has(hash))
  if (replaced.length > 0)
    throw editedRowError(
      drop,
      replaced.map(({ field }) => field),
    )
}

const editedRowError = ({ manifest, name }: Drop, fields: readonly string[]): GdnError =>
  new GdnError('edited_rows', `the row of the run ${name} was edited: ${fields.join(', ')}`, {
    place: { file: manifest ?? undefined },
    hint: 'Nothing was sent. Restore the row, so that all receivers get the same NFT. To mint the edited row to the whole list, add --run <name>.',
    details: { run: name, fields },
  })

function editedFields(was: ManifestRow, now: ManifestRow): string[] {
  const [before, after] = [fieldsOf(was), fieldsOf(now)]
  return [...new Set([...before.keys(), ...after.keys()])].filter((field) => before.get(field) !== after.get(field))
}

function fieldsOf({ metadata, localFiles, sender, senderName }: ManifestRow): Map<string, string> {
  const fields = metadataFields(metadata)
  for (const { key, path } of localFiles) fields.set(fileFieldName(key), path)
  if (sender !== null) fields.set('sender', senderName ?? sender)
  return fields
}
