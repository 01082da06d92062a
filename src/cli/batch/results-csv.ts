import type { ManifestColumns } from '../../batch/rows/manifest-cells.ts'
import { GdnError } from '../../core/errors.ts'
import { type ColumnNaming, parseColumnName, spellingOf } from '../../manifest/columns.ts'
import type { CsvHeader } from '../../manifest/csv-header.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Io } from '../io/io.ts'
import { type DataRecord, plainCell } from '../render/cells.ts'
import type { Csv } from '../render/csv.ts'
import { fieldsOf, selectFrom } from '../render/fields.ts'
import type { View } from '../render/view.ts'

const CHUNK_CHARS = 64 * 1024

/** A result as it is printed, with its row; null if the row was removed from the manifest and isn't recorded. */
export interface ResultRecord {
  record: DataRecord
  row: ManifestRow | null
}

interface ResultsCsv {
  /** The columns that the rows use. */
  columns: ShownColumns
  chosen: readonly ChosenColumn[]
  csv: Csv
  /** Returns the fields of a result as they are shown; as they are by default. */
  shown?: View['cells'] | undefined
}

/** A column of the output: the manifest's at `at`, or null for a field of the results. */
interface ChosenColumn {
  name: string
  at: number | null
}

interface ShownColumns {
  names: readonly string[]
  /** Returns the row's cells in the order of `names`, or null where it uses an unknown column. */
  cells(row: ManifestRow): readonly string[] | null
}

/**
 * Returns columns in the order of a manifest's header, by the names in it or by those of the documentation. Those that
 * it doesn't have (any more), or that only `--map` gave a meaning, follow by the names of the documentation.
 */
export function columnsLike(
  columns: ManifestColumns,
  header: CsvHeader | null,
  naming: ColumnNaming,
  names: 'of the header' | 'of the documentation' = 'of the header',
): ShownColumns {
  if (header === null) return columns
  const left = columns.names.map((name, index) => ({ name, index }))
  const shown = header.names.flatMap((name) => {
    const parsed = parseColumnName(name, naming)
    const meaning = 'role' in parsed ? spellingOf(parsed.role) : null
    const at = left.findIndex((column) => column.name === meaning)
    if (at === -1) return []
    return left.splice(at, 1).map((column) => (names === 'of the header' ? { ...column, name } : column))
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

/**
 * Returns the columns that `--fields` selects, or all: the manifest's own, then the fields of the results. A manifest's
 * column has its name in the header or in the documentation, and precedes a field of the results with the same name.
 *
 * @throws GdnError `usage`
 */
export function chooseFields(
  given: readonly string[] | undefined,
  view: View,
  columns: ShownColumns,
  aliases: readonly string[],
): ChosenColumn[] {
  if (given === undefined) {
    // The title is one of the manifest's own columns.
    const fields = view.fields.filter((field) => field !== 'title')
    return ownAnd(columns, fields)
  }
  const knownFields = [...columns.names, ...aliases]
  const fields = given.map((field) =>
    knownFields.includes(field) ? field : fieldsOf([field], { ...view, more: knownFields })[0],
  )
  return fields.flatMap((name) => {
    if (name === undefined) return []
    const at = knownFields.indexOf(name)
    return { name, at: at === -1 ? null : at % columns.names.length }
  })
}

/** Returns all columns of a manifest, and fields that follow them. */
export const ownAnd = ({ names }: ShownColumns, fields: readonly string[]): ChosenColumn[] => [
  ...names.map((name, at) => ({ name, at })),
  ...fields.map((name) => ({ name, at: null })),
]

/** Prints the chosen columns of each row. The manifest's cells are unchanged. */
export async function printResultsCsv(
  io: Io,
  results: AsyncIterable<ResultRecord>,
  { columns, chosen, csv, shown = (record) => record }: ResultsCsv,
): Promise<void> {
  const { names } = columns
  let text = csv.head(chosen.map(({ name }) => name))
  for await (const { record, row } of results) {
    const own = row === null ? names.map(() => '') : columns.cells(row)
    if (own === null) {
      throw new GdnError('run_busy', 'the rows of this run were replaced while they were read', {
        hint: 'Another gdn process resumed the run. Run the command again.',
      })
    }
    const fields = shown(record)
    text += csv.line(
      chosen.map(({ name, at }) => (at === null ? plainCell(selectFrom(fields, [name])[name]) : (own[at] ?? ''))),
    )
    if (text.length < CHUNK_CHARS) continue
    await io.data(text)
    text = ''
  }
  await io.data(text)
}
