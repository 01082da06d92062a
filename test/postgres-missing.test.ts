import { expect, it } from 'vitest'
import { findPostgres } from './helpers/postgres-server.ts'

// Replaces every test that runs on PostgreSQL if it is not installed: see vitest.config.ts.
it('PostgreSQL is not on this machine (apt-get install postgresql): database tests ran on SQLite only', () => {
  expect(findPostgres()).toBe(null)
})
