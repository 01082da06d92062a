import pg from 'pg'
import type { RawDatabase } from '../../src/sqlite/driver.ts'

/** A statement that gdn ran, with the parameters of its last run. */
export interface Statement {
  sql: string
  parameters: readonly unknown[]
}

/** Statements that gdn ran, by their text without the lengths of lists. */
export const asked = new Map<string, Statement>()

const LIST = /\((?:\?|\$?\d+)(?:, (?:\?|\$?\d+))*\)(?:, \((?:\?|\$?\d+)(?:, (?:\?|\$?\d+))*\))*/g

function record(sql: string, parameters: readonly unknown[]): void {
  asked.set(sql.replace(LIST, '(…)').replace(/\d+/g, '0'), { sql, parameters })
}

/** Returns an SQLite database that records its statements. */
export function recordSqlite(raw: RawDatabase): RawDatabase {
  return {
    exec: (sql) => raw.exec(sql),
    close: () => raw.close(),
    prepare(sql) {
      const statement = raw.prepare(sql)
      const recorded =
        <Result>(run: (parameters: readonly unknown[]) => Result) =>
        (parameters: readonly unknown[]) => {
          record(sql, parameters)
          return run(parameters)
        }
      return {
        reader: statement.reader,
        all: recorded((parameters) => statement.all(parameters)),
        run: recorded((parameters) => statement.run(parameters)),
        iterate: recorded((parameters) => statement.iterate(parameters)),
      }
    },
  }
}

/** Records the statements of every PostgreSQL connection. Returns a function that stops the recording. */
export function recordPostgres(): () => void {
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    if (typeof args[0] === 'string') record(args[0], Array.isArray(args[1]) ? args[1] : [])
    return Reflect.apply(query, this, args)
  }
  return () => {
    pg.Client.prototype.query = query
  }
}
