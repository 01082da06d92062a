import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { defineSheetScript } from './src/build/sheet-script.mjs'
import { filesOf, LONG, MORE_POSTGRES, POSTGRES, REST, soakFiles, TAGS } from './src/build/suites.mjs'
import { findPostgres } from './test/helpers/postgres-server.ts'
import { SummaryReporter } from './test/helpers/summary-reporter.ts'

/** The long form of a test takes minutes to hours. */
const isSoak = process.env.GDN_SOAK === '1'

const { shared, isolated, exclude } = filesOf(process.env.GDN_SUITE)

/** The promises in slow files have passed in `npm test`. Some run on PostgreSQL, too. */
const notInCore = process.env.GDN_SUITE === 'rest' ? { tagsFilter: [REST] } : {}

const onPostgres = (name: string, include: readonly string[]) => ({
  name,
  include: findPostgres() === null ? ['test/postgres-missing.test.ts'] : [...include],
  globalSetup: findPostgres() === null ? [] : ['test/helpers/postgres-setup.ts'],
  setupFiles: findPostgres() === null ? [] : ['test/helpers/start-afresh.ts', 'test/helpers/use-postgres.ts'],
})

export default defineConfig({
  define: await defineSheetScript(),
  test: {
    // Generous, so that a test fails only if its condition never becomes true.
    testTimeout: isSoak ? 3_600_000 : 180_000,
    hookTimeout: 180_000,
    // Random tests repeat themselves, so that a failure belongs to a change. The soak draws new seeds.
    env: isSoak ? {} : { GDN_SEED: process.env.GDN_SEED ?? '1' },
    setupFiles: ['test/helpers/start-afresh.ts'],
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Tests that wait for processes and timers leave a processor to another one.
    maxWorkers: 2 * availableParallelism(),
    // Its import of `typescript` is mocked, because it needs another version than the project's.
    server: { deps: { inline: ['openapi-typescript'] } },
    reporters: ['default', new SummaryReporter()],
    tags: TAGS,
    projects: [
      // Files share processes, which saves most of their time: each test undoes what it changes in its process.
      { extends: true, test: { name: 'core', include: shared, exclude, isolate: false, ...notInCore } },
      // Files that replace modules have a process each.
      { extends: true, test: { name: 'isolated', include: isolated, exclude, ...notInCore } },
      { extends: true, test: { name: 'long', include: LONG } },
      { extends: true, test: { name: 'soak', include: soakFiles(process.env.GDN_SOAK_PARTS) } },
      { extends: true, test: onPostgres('postgres', POSTGRES) },
      { extends: true, test: onPostgres('more-postgres', MORE_POSTGRES) },
    ],
  },
})
