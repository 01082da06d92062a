import type { RawDatabase } from '../../src/sqlite/driver.ts'
import type { Statement } from './asked-statements.ts'

/** Indexes that contain only unfinished rows, or one row. */
const UNFINISHED =
  /_(files_due|mint_due|on_chain|leased|due|ahead|watched|factory|unfinished|pending|unsigned|initiated|waiting)$/

/** Keys of non-unique indexes with few rows each. */
const FEW = [
  // An NFT has one reference ID that was made from content.
  'operation_references_content (target_id=?',
  'owner_events_token (collection_id=? AND token_id=?',
  'sqlite_autoindex_transaction_attempts_2 (transaction_id=?',
  'transactions_directory (directory=?',
  'transactions_hash (hash=?',
  // Of a run with a limit: one for up to 200 NFTs or updates, and one for each other change.
  'transactions_run (run_collection_id=? AND run=?',
  'transfers_collection (collection_id=? AND transaction_id=?',
  'transfers_nft (nft_id=?',
  'transfers_transaction (transaction_id=?',
  // A freeze has up to 200 NFTs.
  'updates_id (id=?',
  'updates_nft (nft_id=?',
  // A request has one change. A freeze has up to 200 NFTs.
  'transfers_request (request_id=?',
  'updates_request (request_id=?',
  'updates_provenance (collection_id=?',
  'updates_transaction (transaction_id=?',
  'webhook_deliveries_event (event_id=?',
]

interface Index {
  columns: string[]
  isUnique: boolean
}

interface Table {
  columns: string[]
  /** Its key, if SQLite uses a number as its row ID. */
  key: string[]
  indexes: Map<string, Index>
}

function all(raw: RawDatabase, text: string, parameters: readonly unknown[] = []): Record<string, unknown>[] {
  return raw.prepare(text).all([...parameters]) as Record<string, unknown>[]
}

/** Returns the tables with these names. */
export function readTables(raw: RawDatabase, names: readonly string[]): Map<string, Table> {
  return new Map(
    names.map((name) => {
      const columns = all(raw, `pragma table_info(${name})`)
      const indexes = all(raw, `pragma index_list(${name})`).map((index): [string, Index] => [
        String(index.name),
        {
          isUnique: index.unique === 1,
          columns: all(raw, `pragma index_info(${index.name})`).map((column) => String(column.name)),
        },
      ])
      const key = columns.filter(({ pk, type }) => pk === 1 && type === 'INTEGER').map((column) => String(column.name))
      return [name, { columns: columns.map((column) => String(column.name)), key, indexes: new Map(indexes) }]
    }),
  )
}

/** Returns the subselects of a statement, each without those inside it. */
function selectParts(text: string): string[] {
  const parts: string[] = []
  let rest = text.replace(/"/g, '').replace(/\s+/g, ' ')
  for (;;) {
    const inner = /\(([^()]*)\)/.exec(rest)
    if (inner === null) return [...parts, rest.trim()]
    const content = inner[1]?.trim() ?? ''
    if (/^(select|with)\b/i.test(content)) parts.push(content)
    const left = /^(select|with)\b/i.test(content) ? '[select]' : `[${content}]`
    rest = rest.slice(0, inner.index) + left + rest.slice(inner.index + inner[0].length)
  }
}

interface Step {
  table: string
  index: Index | undefined
  isSorted: boolean
}

/**
 * Whether a part of the statement stops after the first rows of the index: it has a limit, min or max, uses the order
 * of the index, and the index covers every condition.
 */
function stopsEarly(text: string, step: Step, { columns, key }: Table): boolean {
  const indexed = [...key, ...(step.index?.columns ?? [])]
  return selectParts(text).some((part) => {
    const from = new RegExp(`\\b(?:from|join) ${step.table}\\b`)
    if (!from.test(part)) return false
    const isEnd = /^select (min|max)\[[\w.]+\]( as \w+)? from/.test(part)
    const isPage = / limit /.test(part) && !step.isSorted && !/\bgroup by\b|\bdistinct\b/.test(part)
    if (!isEnd && !isPage) return false
    const where = / where (.*?)(?: order by | limit |$)/.exec(part)?.[1] ?? ''
    if (/\[select\]| join /.test(where) || / join /.test(part)) return false
    return (where.match(/[a-z_]+/g) ?? []).every((word) => !columns.includes(word) || indexed.includes(word))
  })
}

/** Returns the steps of a statement's plan that read more than a few rows of these tables. */
export function unboundedSteps(
  raw: RawDatabase,
  tables: ReadonlyMap<string, Table>,
  { sql, parameters }: Statement,
): string[] {
  const names = new Map([...sql.matchAll(/"?(\w+)"? as "?(\w+)"?/gi)].map(([, table, alias]) => [alias, table]))
  const plan = all(raw, `explain query plan ${sql}`, parameters)
  return plan.flatMap(({ detail, parent }) => {
    const text = String(detail)
    const found =
      /^(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|(?:INTEGER )?(PRIMARY KEY)))?(?: \((.*)\))?$/.exec(
        text,
      )
    const [, kind, named = '', index, key, conditions = ''] = found ?? []
    const name = tables.has(named) ? named : (names.get(named) ?? named)
    const table = tables.get(name)
    if (found === null || table === undefined) return []
    const entries = [...table.indexes].find(([name, { isUnique }]) =>
      key === undefined ? name === index : isUnique,
    )?.[1]
    const equal = conditions.split(' AND ').flatMap((each) => /^(\w+)=\?$/.exec(each)?.[1] ?? [])
    const isOneRow =
      equal[0] === 'rowid' || (entries?.isUnique === true && entries.columns.every((column) => equal.includes(column)))
    // Many rows may be without a transaction.
    const isFew = FEW.some((few) => text.includes(few)) && !/transaction_id"? is null/.test(sql)
    const isEnd = kind === 'SEARCH' && conditions === ''
    if (isOneRow || isFew || isEnd || UNFINISHED.test(index ?? '')) return []
    const isSorted = plan.some((other) => other.parent === parent && other.detail === 'USE TEMP B-TREE FOR ORDER BY')
    return stopsEarly(sql, { table: named, index: entries, isSorted }, table) ? [] : [text]
  })
}
