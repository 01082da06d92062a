import { defineConfig } from 'vitest/config'
import { defineSheetScript } from '../src/build/sheet-script.mjs'

/** The tests that `npm run mutate` runs for one group of files. */
export default defineConfig({
  define: await defineSheetScript(),
  test: {
    include: process.env.GDN_MUTATE_TESTS?.split('\n') ?? [],
    setupFiles: ['test/helpers/start-afresh.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
