import { GdnError } from '../../core/errors.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { type Drop, isOfList } from '../../state/drops.ts'
import type { StateReader } from '../../state/open-state.ts'
import { pageOf, type RowsIn } from '../../state/rows.ts'
import { fileFieldName, metadataFields } from './field-changes.ts'
import { keptRow } from './manifest-row.ts'
import { copyHash } from './row-text.ts'

/**
 * Refuses a list of receivers if the row that they get was edited since the run began: its receivers would get
 * different NFTs. All rows of a list are equal except for their receivers, so the first ones are compared.
 *
 * @throws GdnError `edited_rows`
 */
export async function refuseEditedListRow(
  { drop, state }: { drop: Drop; state: StateReader },
  rows: RowsIn,
): Promise<void> {
  const { setId, manifest, name } = drop
  if (!isOfList(drop) || setId === null) return
  const first = async (from: RowsIn) => {
    const [record] = await state.read((sql) => pageOf(sql, from, -1, 1))
    return record === undefined ? null : { ...keptRow(record).row, receiver: '' }
  }
  const [was, now] = [await first({ set: setId }), await first(rows)]
  if (was === null || now === null || copyHash(was) === copyHash(now)) return
  const fields = editedFields(was, now)
  throw new GdnError('edited_rows', `the row of the run ${name} was edited: ${fields.join(', ')}`, {
    place: { file: manifest ?? undefined },
    hint: 'Nothing was sent. Restore the row, so that all receivers get the same NFT. To mint the edited row to the whole list, add --run <name>.',
    details: { run: name, fields },
  })
}

function editedFields(was: ManifestRow, now: ManifestRow): string[] {
  const [before, after] = [fieldsOf(was), fieldsOf(now)]
  return [...new Set([...before.keys(), ...after.keys()])].filter((field) => before.get(field) !== after.get(field))
}

function fieldsOf({ metadata, localFiles, sender }: ManifestRow): Map<string, string> {
  const fields = metadataFields(metadata)
  for (const { key, path } of localFiles) fields.set(fileFieldName(key), path)
  if (sender !== null) fields.set('sender', sender)
  return fields
}
