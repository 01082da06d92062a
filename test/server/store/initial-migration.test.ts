import { createHash } from 'node:crypto'
import {
  type DialectAdapter,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { expect, it } from 'vitest'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'

const [[name, initial] = []] = Object.entries(MIGRATIONS)

/** Returns the statements of the initial migration in a dialect, without executing them and without their layout. */
async function statementsIn(adapter: DialectAdapter, compiler: QueryCompiler): Promise<string[]> {
  const statements: string[] = []
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => adapter,
      createQueryCompiler: () => compiler,
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) =>
        adapter instanceof PostgresAdapter ? new PostgresIntrospector(db) : new SqliteIntrospector(db),
    },
    log: ({ query }) => void statements.push(query.sql.replaceAll(/\s+/g, ' ')),
  })
  await initial?.up(db)
  return statements
}

// A database of a commit with another schema is recognized by this name. Before the first release, change the name with
// the schema. After it, neither may change: add a migration.
it('the name of the initial migration has the digest of its statements', async () => {
  const statements = [
    await statementsIn(new SqliteAdapter(), new SqliteQueryCompiler()),
    await statementsIn(new PostgresAdapter(), new PostgresQueryCompiler()),
  ]
  for (const some of statements) expect(some.length).toBeGreaterThan(50)
  const digest = createHash('sha256').update(JSON.stringify(statements)).digest('hex').slice(0, 8)
  expect(name).toBe(`0001-initial-${digest}`)
})
