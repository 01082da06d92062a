import { sql } from 'kysely'
import { isPostgres } from '../store/dialect.ts'
import type { Db } from '../store/schema.ts'

/** A table of a database, with everything needed to export and import it. */
export interface TableShape {
  name: string
  /** The columns of the table, sorted by name. */
  columns: readonly string[]
  /** The columns of its primary key. */
  key: readonly string[]
  /** The auto-increment column, if there is one. */
  sequence: string | null
  /** The tables that the foreign keys refer to. */
  refersTo: readonly string[]
}

/** Tables that aren't exported, because their data is short-lived or rebuilt from other tables. */
const EXCLUDED_TABLES = new Set(['rate_windows', 'nft_counts', 'nft_terms', 'nft_term_cursor'])

/** Returns all tables of a backend's database, in dependency order. */
export async function readTables(db: Db): Promise<TableShape[]> {
  const tables = (await db.introspection.getTables()).filter(
    ({ isView, name }) => !isView && !EXCLUDED_TABLES.has(name),
  )
  const shapes: TableShape[] = []
  for (const { name, columns } of tables) {
    const { key, refersTo } = await (isPostgres(db) ? postgresShape(db, name) : sqliteShape(db, name))
    const sequence = columns.find(({ isAutoIncrementing }) => isAutoIncrementing)?.name ?? null
    shapes.push({ name, columns: columns.map((column) => column.name).sort(), key, sequence, refersTo })
  }
  return sortByReferences(shapes)
}

async function sqliteShape(db: Db, table: string) {
  const columns = await sql<{
    name: string
  }>`select name from pragma_table_info(${table}) where pk > 0 order by pk`.execute(db)
  const referenced = await sql<{
    name: string
  }>`select distinct "table" as name from pragma_foreign_key_list(${table})`.execute(db)
  return { key: columns.rows.map(({ name }) => name), refersTo: referenced.rows.map(({ name }) => name) }
}

async function postgresShape(db: Db, table: string) {
  const columns = await sql<{ name: string }>`
    select a.attname as name from pg_index i
      join unnest(i.indkey) with ordinality as k (number, place) on true
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
    where i.indrelid = ${table}::regclass and i.indisprimary order by k.place`.execute(db)
  const referenced = await sql<{ name: string }>`
    select distinct c.relname as name from pg_constraint r join pg_class c on c.oid = r.confrelid
    where r.conrelid = ${table}::regclass and r.contype = 'f'`.execute(db)
  return { key: columns.rows.map(({ name }) => name), refersTo: referenced.rows.map(({ name }) => name) }
}

function sortByReferences(shapes: readonly TableShape[]): TableShape[] {
  const remaining = [...shapes].sort((a, b) => (a.name < b.name ? -1 : 1))
  const done: TableShape[] = []
  while (remaining.length > 0) {
    const names = new Set(remaining.map(({ name }) => name))
    const at = remaining.findIndex(({ name, refersTo }) =>
      refersTo.every((other) => other === name || !names.has(other)),
    )
    if (at < 0) throw new Error(`tables refer to each other in a cycle: ${[...names].join(', ')}`)
    done.push(...remaining.splice(at, 1))
  }
  return done
}
