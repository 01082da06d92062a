import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely'
import type { Pool } from 'pg'

/** The maximum time for which a process that was stopped inside a transaction blocks the others. */
const IDLE_IN_TRANSACTION_MS = 30_000

class PatientDriver extends PostgresDriver {
  /**
   * Every transaction sets its own parameters (SET LOCAL), because pgbouncer may use another connection for the next.
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

  /** Ignores errors: on a lost connection there is nothing to roll back, and the original error matters. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => {})
  }
}

class PatientDialect extends PostgresDialect {
  readonly #pool: Pool

  constructor(pool: Pool) {
    super({ pool })
    this.#pool = pool
  }

  override createDriver(): Driver {
    return new PatientDriver({ pool: this.#pool })
  }
}

export const createPostgresDialect = (pool: Pool): PostgresDialect => new PatientDialect(pool)
