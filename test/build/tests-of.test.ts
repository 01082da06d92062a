import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testsOf } from '../../src/build/tests-of.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

test.each([
  ['a test', 'test/batch/match.test.ts', ['test/batch/match.test.ts']],
  [
    'a source file that tests import',
    'src/batch/rows/match.ts',
    ['test/batch/match.test.ts', 'test/batch/outcomes.test.ts'],
  ],
  ['a helper', 'test/helpers/hurried-clock.ts', ['test/cli/batch/batch.test.ts', 'test/plan/plan-backend.test.ts']],
  [
    'a new command',
    'src/cli/commands/nft/frame.ts',
    ['test/cli/contract/output-contract.test.ts', 'test/cli/nft/nft.test.ts'],
  ],
  [
    'a service',
    'src/server/services/burn-nft.ts',
    ['test/server/http/permissions.test.ts', 'test/server/store/plans.test.ts'],
  ],
  ['a guide', 'docs/drops.md', ['test/docs/pages.test.ts']],
])('%s belongs to its tests', (_what, path, expected) => {
  expect(testsOf(root, [path])).toEqual(expect.arrayContaining(expected))
})

test('files without tests belong to none', () => {
  expect(testsOf(root, ['LICENSE'])).toEqual([])
})
