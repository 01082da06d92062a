import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { chunksOf } from '../../core/chunks-of.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import type { Db } from '../store/schema.ts'
import type { TableShape } from './tables.ts'

/** A row as JSON: values in column order, bytes in base64. */
export type Row = readonly (string | number | null | { base64: string })[]

const ROWS_PER_PAGE = 1000

/** Yields the rows of a table that match a condition, in pages sorted by key. Default: all rows. */
export async function* readTableRows(
  db: Db,
  { name, columns, key }: TableShape,
  matching = sql<SqlBool>`1 = 1`,
): AsyncGenerator<Row[]> {
  const keyRefs = sql.join(key.map((column) => sql.ref(column)))
  const refs = sql.join(columns.map((column) => sql.ref(column)))
  for (let last: readonly unknown[] | null = null; ; ) {
    const after: RawBuilder<SqlBool> =
      last === null ? sql<SqlBool>`1 = 1` : sql<SqlBool>`(${keyRefs}) > (${sql.join(last)})`
    const { rows } = await sql<Record<string, unknown>>`
      select ${refs} from ${sql.table(name)} where (${matching}) and ${after} order by ${keyRefs} limit ${sql.lit(ROWS_PER_PAGE)}`.execute(
      db,
    )
    if (rows.length > 0) yield rows.map((row) => columns.map((column) => toJson(row[column])))
    const end = rows.at(-1)
    if (end === undefined || rows.length < ROWS_PER_PAGE) return
    last = key.map((column) => end[column])
  }
}

function toJson(value: unknown): Row[number] {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (value instanceof ArrayBuffer) return { base64: Buffer.from(value).toString('base64') }
  if (ArrayBuffer.isView(value)) {
    return { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
  }
  if (typeof value === 'bigint') return Number(value)
  throw new Error(`unexpected ${typeof value} in the database`)
}

const fromJson = (value: Row[number]): unknown =>
  value !== null && typeof value === 'object' ? Buffer.from(value.base64, 'base64') : value

/** Maximum number of parameters in a statement, below the limits of both databases. */
const MAX_PARAMETERS = 20_000

export async function writeRows(db: Db, { name, columns }: TableShape, rows: readonly Row[]): Promise<void> {
  const rowsPerInsert = Math.max(1, Math.floor(MAX_PARAMETERS / columns.length))
  const refs = sql.join(columns.map((column) => sql.ref(column)))
  for (const chunk of chunksOf(rows, rowsPerInsert)) {
    const values = chunk.map((row) => sql`(${sql.join(row.map(fromJson))})`)
    await sql`insert into ${sql.table(name)} (${refs}) values ${sql.join(values)}`.execute(db)
  }
}

const CHECKSUM_MODULUS = 2n ** 256n

/**
 * A checksum of a table's rows that is independent of their order, because SQLite and PostgreSQL sort text differently.
 */
export class TableChecksum {
  rowCount = 0
  #sum = 0n

  add(row: Row): void {
    this.rowCount += 1
    const hash = sha256Hex(JSON.stringify(row))
    this.#sum = (this.#sum + BigInt(`0x${hash}`)) % CHECKSUM_MODULUS
  }

  /** The checksum as 64 hex digits. */
  get sha256(): string {
    return this.#sum.toString(16).padStart(64, '0')
  }
}
