import type { ManifestColumns } from '../../batch/manifest-cells.ts'
import { GdnError } from '../../core/errors.ts'
import { type ColumnNaming, parseColumnName, spellingOf } from '../../manifest/columns.ts'
import type { CsvHeader } from '../../manifest/csv-header.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Io } from '../io/io.ts'
import { type DataRecord, plainCell } from '../render/cells.ts'
import type { Csv } from '../render/csv.ts'

const CHUNK_CHARS = 64 * 1024

/** A result as it is printed, with its row; null if the row is no longer in the manifest. */
export interface ResultRecord {
  record: DataRecord
  row: ManifestRow | null
}

interface ResultsCsv {
  /** The columns that the rows use. */
  columns: ShownColumns
  /** The fields of the results that follow them. */
  fields: readonly string[]
  csv: Csv
}

interface ShownColumns {
  names: readonly string[]
  /** Returns the row's cells in the order of `names`, or null where it uses an unknown column. */
  cells(row: ManifestRow): readonly string[] | null
}

/**
 * Returns columns in the order of a manifest's header, by the names in it. Those that it doesn't have (any more), or that
 * only `--map` gave a meaning, follow by the names of the documentation.
 */
export function columnsLike(columns: ManifestColumns, header: CsvHeader | null, naming: ColumnNaming): ShownColumns {
  if (header === null) return columns
  const left = columns.names.map((name, index) => ({ name, index }))
  const shown = header.names.flatMap((name) => {
    const parsed = parseColumnName(name, naming)
    const meaning = 'role' in parsed ? spellingOf(parsed.role) : null
    const at = left.findIndex((column) => column.name === meaning)
    return at === -1 ? [] : left.splice(at, 1).map(({ index }) => ({ name, index }))
  })
  const all = [...shown, ...left]
  return {
    names: all.map(({ name }) => name),
    cells(row) {
      const own = columns.cells(row)
      return own === null ? null : all.map(({ index }) => own[index] ?? '')
    },
  }
}

/** Prints the manifest with the outcome of each row: its own columns unchanged, then those of the results. */
export async function printResultsCsv(
  io: Io,
  results: AsyncIterable<ResultRecord>,
  { columns, fields, csv }: ResultsCsv,
): Promise<void> {
  const { names } = columns
  let text = csv.head([...names, ...fields])
  for await (const { record, row } of results) {
    const own = row === null ? names.map(() => '') : columns.cells(row)
    if (own === null) {
      throw new GdnError('run_busy', 'the rows of this run were replaced while they were read', {
        hint: 'Another gdn process resumed the run. Run the command again.',
      })
    }
    text += csv.line([...own, ...fields.map((field) => plainCell(record[field]))])
    if (text.length < CHUNK_CHARS) continue
    await io.data(text)
    text = ''
  }
  await io.data(text)
}
