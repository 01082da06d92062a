import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely'
import type { Pool } from 'pg'

/** A process that was stopped in the midst of a transaction holds up the others no longer than this. */
const IDLE_IN_TRANSACTION_MS = 30_000

class PatientDriver extends PostgresDriver {
  /**
   * Every transaction says for itself what it needs (SET LOCAL): behind pgbouncer the next one may have another
   * connection.
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

  /** On a connection that is gone nothing is left to roll back, and why the work failed is what counts. */
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

/** How the query layer speaks to PostgreSQL. */
export const createPostgresDialect = (pool: Pool): PostgresDialect => new PatientDialect(pool)
