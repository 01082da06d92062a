import type { DataRecord } from './cells.ts'

/** The output of a command: the fields of its records, the columns of a table, and the field of the ID. */
export interface View {
  fields: readonly string[]
  columns: readonly string[]
  id: string
  /** The plural noun for its records, as in `All 2 events have the status deployed`. */
  plural?: string
  /** Whether a terminal too narrow for whole cells leaves the ID column out. */
  dropsId?: boolean
  /** Columns that a table leaves out if no record has a value, or if all are 0. */
  sparse?: readonly string[]
  /** A column that yields space to the others: its cells are truncated at the start, or it is omitted. */
  yields?: string
  /** Cells of a table that are not fields of the record. */
  cells?: ((record: DataRecord) => DataRecord) | undefined
  /** Names of cells that are neither fields nor always columns. */
  more?: readonly string[]
  /** Returns the card that people see for one record, if it shows more than the fields. */
  card?(record: DataRecord): Card
  /** How people see fields whose value is an object or has a unit, including with --fields. */
  forms?: Readonly<Record<string, (value: unknown) => unknown>>
}

/** A field or label, and its value. Pairs are shown below each other. */
export type CardRow = readonly [name: string, value: unknown]

export type Card = readonly CardRow[]
