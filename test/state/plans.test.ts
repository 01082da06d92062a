import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import { openState, statePath } from '../../src/state/open-state.ts'
import { hasRowsWithoutId } from '../../src/state/unnamed-rows.ts'
import { Machine } from '../batch/simulation.ts'
import { row, rowsUpTo } from '../batch/simulation-rows.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

interface Step {
  id: number
  parent: number
  detail: string
}

/** Tables that grow with the number of rows. */
const LARGE = /\b(operations|requests|rows|nfts|known_nfts|attempts|o|q|r|n|draft|checked|claimed)\b/

/** A search that reads all operations of a run, or all its rows. */
const OF_RUN = /^SEARCH (?:o|r|s|rows) .* \((?:run_id|set_id)=\?\)/

/**
 * Returns the steps of a plan that read a large table, or parse a list, once for each row of another table. Statistics
 * are never collected, so SQLite orders joins by the indexes alone.
 */
const repeated = (plan: readonly Step[]) =>
  plan.filter(({ id, parent, detail }) => {
    const isScan =
      detail.includes('VIRTUAL TABLE') || (/^SCAN /.test(detail) && LARGE.test(detail)) || OF_RUN.test(detail)
    // A row_sets entry that is deleted takes its rows with it.
    const outer = plan.filter(
      (step) => step.parent === parent && step.id < id && /^(SCAN|SEARCH) (?!row_sets)/.test(step.detail),
    )
    return isScan && outer.length > 0
  })

/** Opens databases and records their statements. */
function recording(statements: Set<string>): (path: string) => RawDatabase {
  return (path) => {
    const raw = openSqlite(path)
    return {
      exec(sql) {
        if (sql.includes('CREATE TEMP TABLE')) statements.add(sql)
        raw.exec(sql)
      },
      close: () => raw.close(),
      prepare(sql) {
        statements.add(sql)
        return raw.prepare(sql)
      },
    }
  }
}

/** Returns the plans of recorded queries. */
function plansOf(statements: ReadonlySet<string>): { sql: string; plan: Step[] }[] {
  const database = openSqlite(statePath(machine.stateDir))
  try {
    for (const sql of statements) if (sql.includes('CREATE TEMP TABLE')) database.exec(sql)
    const queries = [...statements].filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql))
    return queries.map((sql) => {
      const parameters = Array.from(sql.matchAll(/\?/g), () => null)
      return { sql, plan: database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters) as Step[] }
    })
  } finally {
    database.close()
  }
}

test('a run beside another run of its collection reads no large table once per row', async () => {
  const statements = new Set<string>()
  const openDatabase = recording(statements)
  const server = new FakeHostedApi({ idempotency: false, now: machine.time.now })
  await machine.run(server, rowsUpTo(9), { manifestPath: '/a/drop.csv' }, { openDatabase })
  const others = Array.from({ length: 9 }, (_, i) => row(20 + i))
  await machine.run(server, others, { manifestPath: '/b/drop.csv' }, { openDatabase })
  await machine.run(server, [...others, row(40)], { manifestPath: '/b/drop.csv' }, { openDatabase })
  await machine.run(
    server,
    [...others.slice(1), row(41)],
    { manifestPath: '/b/drop.csv', newRows: true },
    { openDatabase },
  )

  const plans = plansOf(statements)
  expect(plans.length).toBeGreaterThan(50)
  const found = plans.filter(({ plan }) => repeated(plan).length > 0)
  expect(found.map(({ sql, plan }) => [sql, ...plan.map(({ detail }) => detail)].join('\n'))).toEqual([])
})

test('a run that sent every row is resumed without comparing them with what was sent', async () => {
  const statements = new Set<string>()
  const server = new FakeHostedApi({ idempotency: false, now: machine.time.now })
  await machine.run(server, rowsUpTo(9), { wait: false })
  const { counts } = await machine.run(server, null, { wait: false }, { openDatabase: recording(statements) })
  expect(counts).toMatchObject({ total: 9, pending: 0, accepted: 9 })
  expect([...statements].filter((sql) => sql.includes('json_group_array'))).toEqual([])
})

test('a resumed run looks its rows up in an index that has all columns', async () => {
  const statements = new Set<string>()
  const server = new FakeHostedApi({ idempotency: false, now: machine.time.now })
  await machine.run(server, rowsUpTo(9), {}, { openDatabase: recording(statements) })
  await machine.run(server, rowsUpTo(10), {}, { openDatabase: recording(statements) })
  const lookups = plansOf(statements).filter(({ sql }) => sql.includes('o.line = r.line'))
  expect(lookups.length).toBeGreaterThan(0)
  for (const { plan } of lookups) {
    expect(plan.map(({ detail }) => detail).join()).toContain('COVERING INDEX operations_by_line')
  }
})

test('a search for rows without an ID reads the runs of the collections, not all operations', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false, now: machine.time.now }), rowsUpTo(9))
  const statements = new Set<string>()
  const state = await openState(machine.stateDir, { open: recording(statements) })
  expect(await state.read((sql) => hasRowsWithoutId(sql, [1]))).toBe(true)
  expect(await state.read((sql) => hasRowsWithoutId(sql, [2]))).toBe(false)
  state.close()
  const [search] = plansOf(statements).filter(({ sql }) => sql.includes("'row:'"))
  expect(search?.plan.map(({ detail }) => detail).join()).toMatch(/SEARCH o .*operations_by_run \(run_id=\?\)/)
})
