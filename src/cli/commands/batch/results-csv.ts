import type { ManifestColumns } from '../../../batch/manifest-cells.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import type { Io } from '../../io/io.ts'
import { csvLine, type DataRecord, harmlessCell, plainCell } from '../../render/cells.ts'

const CHUNK_CHARS = 64 * 1024

/** A result as it is printed, with its row; null if the row is no longer in the manifest. */
export interface ResultRecord {
  record: DataRecord
  row: ManifestRow | null
}

interface ResultsCsv {
  /** The columns that the rows use. */
  columns: ManifestColumns
  /** The fields of the results that follow them. */
  fields: readonly string[]
  /** Neutralize cells that a spreadsheet would execute. */
  forSpreadsheet: boolean
}

/** Prints the manifest with the outcome of each row: its own columns unchanged, then those of the results. */
export async function printResultsCsv(
  io: Io,
  results: AsyncIterable<ResultRecord>,
  { columns, fields, forSpreadsheet }: ResultsCsv,
): Promise<void> {
  const line = (cells: readonly string[]) => csvLine(forSpreadsheet ? cells.map(harmlessCell) : cells)
  const { names } = columns
  let text = line([...names, ...fields])
  for await (const { record, row } of results) {
    const own = row === null ? names.map(() => '') : columns.cells(row)
    if (own === null) {
      throw new GdnError('run_busy', 'the rows of this run were replaced while they were read', {
        hint: 'Another gdn process resumed the run. Run the command again.',
      })
    }
    text += line([...own, ...fields.map((field) => plainCell(record[field]))])
    if (text.length < CHUNK_CHARS) continue
    await io.data(text)
    text = ''
  }
  await io.data(text)
}
