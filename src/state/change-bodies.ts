import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'

const PAGE_SIZE = 500

const OF_RUN = 'SELECT 1 FROM operations o WHERE o.id = operation_id AND o.run_id = ?'

/** The tables with bodies of a run's rows: as in the manifest, as sent, and as last applied. */
const BODIES = [
  ['rows', 'position', 'set_id = ? AND files > 0'],
  ['operations', 'id', 'run_id = ? AND body IS NOT NULL'],
  ['nfts', 'operation_id', `EXISTS (${OF_RUN}) AND body IS NOT NULL`],
] as const

/** Replaces each body of a run's rows that contains `part` with the result of `change`. */
export function changeBodies(
  sql: Sql,
  { id, setId }: Pick<Drop, 'id' | 'setId'>,
  part: string,
  change: (body: Uint8Array) => Uint8Array,
): void {
  for (const [table, key, condition] of BODIES) {
    const owner = table === 'rows' ? (setId ?? -1) : id
    for (let after: string | number = table === 'rows' ? -1 : ''; ; ) {
      const page: { at: string | number; body: Uint8Array }[] = sql.all(
        `SELECT ${key} AS at, body FROM ${table} WHERE ${condition} AND ${key} > ? AND instr(body, ?) > 0
          ORDER BY ${key} LIMIT ?`,
        ...[owner, after, Buffer.from(part), PAGE_SIZE],
      )
      for (const { at, body } of page) {
        sql.run(`UPDATE ${table} SET body = ? WHERE ${condition} AND ${key} = ?`, change(body), owner, at)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE_SIZE) break
      after = last.at
    }
  }
}
