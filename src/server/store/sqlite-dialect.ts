import { SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely'
import { messageOf } from '../../core/errors.ts'
import type { RawDatabase } from '../../sqlite/driver.ts'

/**
 * Makes DDL transactional: otherwise the migrator creates tables one by one, and a start that is killed leaves half of
 * them.
 */
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
 * Changes two statements of the query library. A transaction acquires the write lock when it begins. If it did so at
 * its first write, after a read, it would fail instead of wait if another process (gdn key) had written in between. On
 * a full disk, SQLite rolls back by itself; the later rollback would fail and hide the original error.
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

/** The query library's dialect for SQLite. */
export function createSqliteDialect(raw: RawDatabase): SqliteDialect {
  return new TransactionalDialect({ database: adapt(raw) })
}
