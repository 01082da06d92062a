import { expect, it } from 'vitest'
import { findPostgres } from './helpers/postgres-server.ts'

// Stands in the place of every test that runs on PostgreSQL, where there is none: see vitest.config.ts.
it('PostgreSQL is not on this machine (apt-get install postgresql): what touches the database was tested on SQLite only', () => {
  expect(findPostgres()).toBe(null)
})
