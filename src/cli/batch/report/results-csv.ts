import type { ManifestColumns } from '../../../batch/rows/manifest-cells.ts'
import { GdnError } from '../../../core/errors.ts'
import { type ColumnNaming, formatColumnName, IGNORED_MEANING, parseColumnName } from '../../../manifest/columns.ts'
import type { CsvHeader } from '../../../manifest/csv-header.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import type { Io } from '../../io/io.ts'
import type { Csv } from '../../render/csv.ts'
import { resolveFields, selectRecordFields } from '../../render/fields.ts'
import { type DataRecord, plainCell, type View } from '../../render/view.ts'
import type { FileCells } from './ignored-cells.ts'

const CHUNK_CHARS = 64 * 1024

/** A result to print, with its row. The row is null if it was removed from the manifest and wasn't recorded. */
export interface ResultRecord {
  record: DataRecord
  row: ManifestRow | null
}

interface ResultsCsv {
  /** The cells in the current manifest. */
  inFile?: FileCells | undefined
  /** The columns that the rows use. */
  columns: ShownColumns
  chosen: readonly ChosenColumn[]
  csv: Csv
  /** Returns the displayed fields of a result. Default: the fields of its record. */
  shown?: View['cells'] | undefined
}

/** A column of the output. `at` is the index of a manifest column, or null for a field of the results. */
interface ChosenColumn {
  name: string
  at: number | null
}

interface ShownColumns {
  names: readonly string[]
  /** Whether there are ignored columns. Their cells are only in the file. */
  hasIgnored: boolean
  /** Returns the row's cells in the order of `names`, or null if the row uses an unknown column. */
  cells(row: ManifestRow, inFile: readonly string[] | undefined): readonly string[] | null
}

/**
 * Returns columns in the order of a manifest's header. Each column has its name from the header or from the
 * documentation. Columns that aren't in the header come last, with their documented names.
 *
 * @param naming how column names were interpreted when the manifest was read
 * @param reserved names that an ignored column must not have; null omits ignored columns
 */
export function orderColumnsByHeader(
  columns: ManifestColumns,
  header: CsvHeader | null,
  naming: ColumnNaming,
  names: 'of the header' | 'of the documentation' = 'of the header',
  reserved: readonly string[] | null = null,
): ShownColumns {
  if (header === null) return { names: columns.names, hasIgnored: false, cells: (row) => columns.cells(row) }
  const takenNames = new Set([...columns.names, ...(reserved ?? [])])
  const unplaced = columns.names.map((name, index) => ({ name, index, inFile: -1 }))
  const shownColumns = header.names.flatMap((name, inFile) => {
    const parsed = parseColumnName(name, naming)
    if ('role' in parsed && parsed.role.kind === IGNORED_MEANING) {
      return reserved === null || takenNames.has(name) ? [] : [{ name, index: -1, inFile }]
    }
    const meaning = 'role' in parsed ? formatColumnName(parsed.role) : null
    const at = unplaced.findIndex((column) => column.name === meaning)
    if (at === -1) return []
    return unplaced.splice(at, 1).map((column) => (names === 'of the header' ? { ...column, name } : column))
  })
  const all = [...shownColumns, ...unplaced]
  return {
    names: all.map(({ name }) => name),
    hasIgnored: all.some(({ inFile }) => inFile !== -1),
    cells(row, cells) {
      const rowCells = columns.cells(row)
      return rowCells === null ? null : all.map(({ index, inFile }) => rowCells[index] ?? cells?.[inFile]?.trim() ?? '')
    },
  }
}

/**
 * Returns the columns that `--fields` selects. The default is the manifest's own columns, followed by the result
 * fields. `--fields` can name a manifest column by its header or its documented name. If a result field has the same
 * name, the manifest column takes precedence.
 *
 * @throws GdnError `usage`
 */
export function chooseFields(
  names: readonly string[] | undefined,
  view: View,
  columns: ShownColumns,
  aliases: readonly string[],
): ChosenColumn[] {
  if (names === undefined) {
    // `title` is already one of the manifest's own columns.
    const fields = view.fields.filter((field) => field !== 'title')
    return manifestColumnsAnd(columns, fields)
  }
  const knownFields = [...columns.names, ...aliases]
  const fields = names.map((field) =>
    knownFields.includes(field) ? field : resolveFields([field], { ...view, more: knownFields })[0],
  )
  return fields.flatMap((name) => {
    if (name === undefined) return []
    const at = knownFields.indexOf(name)
    return { name, at: at === -1 ? null : at % columns.names.length }
  })
}

/** Returns all columns of a manifest, followed by the given fields. */
export const manifestColumnsAnd = ({ names }: ShownColumns, fields: readonly string[]): ChosenColumn[] => [
  ...names.map((name, at) => ({ name, at })),
  ...fields.map((name) => ({ name, at: null })),
]

/** Prints the chosen columns of each row. Prints the manifest's cells unchanged. */
export async function printResultsCsv(
  io: Io,
  results: AsyncIterable<ResultRecord>,
  { columns, chosen, csv, inFile, shown = (record) => record }: ResultsCsv,
): Promise<void> {
  const { names } = columns
  let text = csv.head(chosen.map(({ name }) => name))
  for await (const { record, row } of results) {
    const rowCells = row === null ? names.map(() => '') : columns.cells(row, inFile?.of(String(record.key), row))
    if (rowCells === null) {
      throw new GdnError('run_busy', 'the rows of this run were replaced while they were read', {
        hint: 'Another gdn process resumed the run. Run the command again.',
      })
    }
    const fields = shown(record)
    text += csv.line(
      chosen.map(({ name, at }) =>
        at === null ? plainCell(selectRecordFields(fields, [name])[name]) : (rowCells[at] ?? ''),
      ),
    )
    if (text.length < CHUNK_CHARS) continue
    await io.data(text)
    text = ''
  }
  await io.data(text)
}
