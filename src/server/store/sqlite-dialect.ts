import { SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { RawDatabase, RawStatement } from '../../sqlite/driver.ts'

/**
 * Makes DDL transactional. Otherwise, the migrator would create tables one by one, and a start that is killed would
 * leave only some of them.
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
 * Maximum number of cached statements. Together with the maximum length of their texts, this is enough for all frequent
 * statements. A longer text seldom recurs, because it depends on the number of rows.
 */
const MAX_CACHED_STATEMENTS = 200
const MAX_CACHED_SQL_LENGTH = 4000

/**
 * Caches prepared statements, because preparing a statement takes as long as running it. Also changes how two of
 * Kysely's statements run. A transaction acquires the write lock when it begins. Otherwise, it would acquire the lock
 * at its first write, and would fail instead of waiting if another process (gdn key) had written since its first read.
 * On a full disk, SQLite rolls back by itself. Kysely's rollback would then fail and hide the original error, so this
 * failure is ignored.
 */
function adapt(raw: RawDatabase): SqliteDatabase {
  const statements = new BoundedMap<RawStatement>(MAX_CACHED_STATEMENTS)
  const open = (sql: string): RawStatement => raw.prepare(sql === 'begin' ? 'begin immediate' : sql)
  return {
    close: () => raw.close(),
    prepare(sql) {
      const statement = statements.get(sql) ?? open(sql)
      // Don't reuse a failed statement, because it may not have been reset.
      statements.delete(sql)
      const keep = <Result>(result: Result): Result => {
        if (sql.length <= MAX_CACHED_SQL_LENGTH) statements.set(sql, statement)
        return result
      }
      return {
        reader: statement.reader,
        all: (parameters) => keep(statement.all(parameters)),
        // Don't share this statement, because other queries run while the rows of this one are read.
        iterate: (parameters) => open(sql).iterate(parameters),
        run(parameters) {
          try {
            return keep(statement.run(parameters))
          } catch (error) {
            if (sql !== 'rollback' || !messageOf(error).includes('no transaction is active')) throw error
            return { changes: 0, lastInsertRowid: 0 }
          }
        },
      }
    },
  }
}

export function createSqliteDialect(raw: RawDatabase): SqliteDialect {
  return new TransactionalDialect({ database: adapt(raw) })
}
