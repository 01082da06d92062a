import type { DataRecord } from './cells.ts'

/** What a command prints: the fields of its records, which of them a table shows, and which one is the id. */
export interface View {
  fields: readonly string[]
  columns: readonly string[]
  id: string
  /** Whether a terminal too narrow for whole cells leaves the ID column out. */
  dropsId?: boolean
  /** Cells of a table that are in no field of their own. */
  cells?(record: DataRecord): DataRecord
  /** What a person is shown of one record, where that isn't simply its fields. */
  card?(record: DataRecord): Card
}

/** A field, or a word for what is shown, and its value; pairs are shown under each other. */
export type CardRow = readonly [name: string, value: unknown]

export type Card = readonly CardRow[]
