import { defineConfig } from 'vitest/config'

const soak = { name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 }

export default defineConfig({
  test: {
    // The long forms take their time.
    testTimeout: process.env.GDN_SOAK === '1' ? 3_600_000 : 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/e2e/**', 'test/soak/**'] },
      },
      { extends: true, test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 180_000 } },
      // Hours, not minutes: only `npm run soak` asks for it.
      ...(process.env.GDN_SOAK === '1' ? [{ extends: true as const, test: soak }] : []),
    ],
  },
})
