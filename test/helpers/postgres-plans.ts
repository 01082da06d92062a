import type { Client } from 'pg'
import type { Statement } from './asked-statements.ts'

/** A node of a plan in PostgreSQL's format. */
interface PlanNode {
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/** Runs a statement, rolls it back, and returns how many rows of these tables it read. Inserts aren't run. */
export async function rowsRead(
  client: Client,
  tables: readonly string[],
  { sql, parameters }: Statement,
): Promise<number> {
  if (/^\s*insert\b/i.test(sql) || !new RegExp(`\\b(${tables.join('|')})\\b`).test(sql)) return 0
  const { rows: indexes } = await client.query(
    'select indexname, tablename from pg_indexes where tablename = any($1)',
    [tables],
  )
  const counted = new Set([...tables, ...indexes.map(({ indexname }) => indexname)])
  const readBy = (node: PlanNode): number => {
    const isCounted = counted.has(node['Relation Name'] ?? '') || counted.has(node['Index Name'] ?? '')
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
    const own = isCounted ? (node['Actual Rows'] + removed) * node['Actual Loops'] : 0
    return (node.Plans ?? []).reduce((sum, part) => sum + readBy(part), own)
  }
  await client.query('begin')
  try {
    const { rows } = await client.query(`explain (analyze, format json) ${sql}`, [...parameters])
    return readBy(rows[0]['QUERY PLAN'][0].Plan)
  } finally {
    await client.query('rollback')
  }
}
