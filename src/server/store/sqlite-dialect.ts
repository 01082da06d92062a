import { SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely'
import { messageOf } from '../../core/errors.ts'
import type { RawDatabase } from '../../sqlite/driver.ts'

/** Without this word the migrator makes tables one by one, and a start that is killed meanwhile leaves half of them. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class TransactionalDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter()
  }
}

/**
 * Two words of the query layer need a change. A transaction takes the right to write when it begins: one that took it
 * at its first write, after reading, would fail if another process (gdn key) had written in between, and wouldn't be
 * made to wait. And a full disk makes SQLite roll back by itself: the rollback sent after that would fail, and hide
 * what had happened.
 */
function adapt(raw: RawDatabase): SqliteDatabase {
  return {
    close: () => raw.close(),
    prepare(sql) {
      const statement = raw.prepare(sql === 'begin' ? 'begin immediate' : sql)
      if (sql !== 'rollback') return statement
      return {
        reader: false,
        all: () => [],
        iterate: () => [].values(),
        run(parameters) {
          try {
            return statement.run(parameters)
          } catch (error) {
            if (!messageOf(error).includes('no transaction is active')) throw error
            return { changes: 0, lastInsertRowid: 0 }
          }
        },
      }
    },
  }
}

/** How the query layer speaks to SQLite. */
export function createSqliteDialect(raw: RawDatabase): SqliteDialect {
  return new TransactionalDialect({ database: adapt(raw) })
}
