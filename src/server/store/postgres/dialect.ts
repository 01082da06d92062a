import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely'
import type { Pool } from 'pg'

/**
 * The maximum time in milliseconds for which a process that is stopped inside a transaction can block other processes.
 */
const IDLE_IN_TRANSACTION_MS = 30_000

class PoolerSafeDriver extends PostgresDriver {
  /**
   * Begins a transaction and sets its parameters (SET LOCAL), because PgBouncer may use another connection for the next
   * transaction.
   */
  override async beginTransaction(
    connection: DatabaseConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    const begin = isolationLevel === undefined ? 'begin' : `begin isolation level ${isolationLevel}`
    await connection.executeQuery(
      CompiledQuery.raw(`${begin}; set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`),
    )
  }

  /**
   * Rolls back a transaction. Ignores errors, because a lost connection has nothing to roll back, and the original
   * error must be reported.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => {})
  }
}

class PoolerSafeDialect extends PostgresDialect {
  readonly #pool: Pool

  constructor(pool: Pool) {
    super({ pool })
    this.#pool = pool
  }

  override createDriver(): Driver {
    return new PoolerSafeDriver({ pool: this.#pool })
  }
}

export const createPostgresDialect = (pool: Pool): PostgresDialect => new PoolerSafeDialect(pool)
