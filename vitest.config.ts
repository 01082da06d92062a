import { defineConfig } from 'vitest/config'
import { defineSheetScript } from './src/build/sheet-script.mjs'
import { findPostgres } from './test/helpers/postgres-server.ts'

/** The long form of a test takes minutes to hours. */
const isSoak = process.env.GDN_SOAK === '1'

const soak = { name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 }

/** Tests that use the database in specific ways. They run on SQLite like all tests, and again on PostgreSQL. */
const onPostgres = [
  'test/server/store/{leases,plans,transfers,due-times}.test.ts',
  'test/server/http/{idempotency,rate-limits,references}.test.ts',
  'test/server/pipeline/{minting,follow-owners,requested-actions,reordered-mints,reordered-transfers,restored-database,restored-cluster,lost-commits,optimize-step}.test.ts',
  'test/server/transfers/owner-block.test.ts',
  'test/server/database/*.test.ts',
  'test/server/webhooks/{events,delivery,outbox}.test.ts',
  'test/server/postgres/**/*.test.ts',
  'test/server/storage/settings.test.ts',
  'test/server/explorer/*.test.ts',
  // Slow tests run only in the long form.
  ...(isSoak
    ? ['test/server/pipeline/{reorgs,shared-network}.test.ts', 'test/server/transfers/transfernft.test.ts']
    : []),
]

const postgres = {
  name: 'postgres',
  include: findPostgres() === null ? ['test/postgres-missing.test.ts'] : onPostgres,
  globalSetup: findPostgres() === null ? [] : ['test/helpers/postgres-setup.ts'],
  setupFiles: findPostgres() === null ? [] : ['test/helpers/use-postgres.ts'],
}

export default defineConfig({
  define: await defineSheetScript(),
  test: {
    testTimeout: isSoak ? 3_600_000 : 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 4,
    // Its import of `typescript` is mocked, because it needs another version than the project's.
    server: { deps: { inline: ['openapi-typescript'] } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/soak/**', 'test/server/postgres/**', 'test/postgres-missing.test.ts'],
        },
      },
      { extends: true, test: postgres },
      {
        extends: true,
        test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: isSoak ? 3_600_000 : 180_000 },
      },
      // Takes hours, so only `npm run soak` includes it.
      ...(isSoak ? [{ extends: true as const, test: soak }] : []),
    ],
  },
})
