import type { RawDatabase } from '../../src/sqlite/driver.ts'

/** A database that passes the text of each statement to `before`. If that throws, the statement is not run. */
export function wrapDatabase(raw: RawDatabase, before: (sql: string) => void): RawDatabase {
  const told =
    <Parameters extends unknown[], Result>(sql: string, run: (...parameters: Parameters) => Result) =>
    (...parameters: Parameters) => {
      before(sql)
      return run(...parameters)
    }
  return {
    exec: (sql) => told(sql, raw.exec.bind(raw))(sql),
    close: () => raw.close(),
    prepare(sql) {
      const statement = raw.prepare(sql)
      return {
        reader: statement.reader,
        all: told(sql, (parameters: readonly unknown[]) => statement.all(parameters)),
        run: told(sql, (parameters: readonly unknown[]) => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters),
      }
    },
  }
}
