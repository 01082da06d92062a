import { defineConfig } from 'vitest/config'
import { defineSheetScript } from './src/build/sheet-script.mjs'
import { findPostgres } from './test/helpers/postgres-server.ts'

/** Long forms take minutes to hours each. */
const isSoak = process.env.GDN_SOAK === '1'

const soak = { name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 }

/** What touches the database in ways of its own; once on SQLite, as everything, and once on PostgreSQL. */
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
  // The long form takes in what takes long.
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
    maxWorkers: 2,
    // Its import of `typescript` is mocked: it needs another version than the project's.
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
      // Hours, not minutes: only `npm run soak` asks for it.
      ...(isSoak ? [{ extends: true as const, test: soak }] : []),
    ],
  },
})
