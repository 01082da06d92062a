import { defineConfig } from 'vitest/config'
import { defineSheetScript } from '../src/build/sheet-script.mjs'
import { CORE, LONG, soakFiles, TAGS } from '../src/build/suites.mjs'

const isCore = process.env.GDN_SUITE === 'core'

/** The tests that `npm run mutate` runs for one group of files. */
export default defineConfig({
  define: await defineSheetScript(),
  test: {
    include: process.env.GDN_MUTATE_TESTS?.split('\n') ?? [],
    exclude: isCore ? [...LONG, ...soakFiles(undefined)] : [],
    tags: TAGS,
    ...(isCore ? { tagsFilter: [CORE] } : {}),
    // Random tests repeat themselves, so that a failure belongs to a change.
    env: { GDN_SEED: '1' },
    setupFiles: ['test/helpers/start-afresh.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
