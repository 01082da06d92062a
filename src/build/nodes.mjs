// `npm run test:nodes [version…]`: runs the tests of databases and images, and the end-to-end tests of the built gdn,
// on other Node versions.
import { cachedNode } from './cached-package.mjs'
import { run } from './run.mjs'
import { setUpForTests } from './setup.mjs'
import { runTests } from './vitest.mjs'

const PROJECTS = ['core', 'isolated', 'long']
/** Node 22.15 has a `node:sqlite` that is too old for gdn. */
const VERSIONS = ['22.15', '22', '24', '26']
/**
 * Tests that run on the other versions of Node.js: tests of databases, and of pixels, which must not depend on the
 * version.
 */
const IN_NODE = [
  'test/art/generate',
  'test/sqlite',
  'test/state',
  'test/client/pace',
  'test/server/store',
  'test/batch/crash',
  'test/operations/crash',
]

await setUpForTests()
const asked = process.argv.slice(2)
for (const version of asked.length > 0 ? asked : VERSIONS) {
  const node = await cachedNode(version)
  const { output } = await run(node, ['--version'])
  process.stdout.write(`\ntests on Node ${output.trim()}\n`)
  if (!(await runTests(PROJECTS, { args: IN_NODE, node }))) process.exitCode = 1
  if (!(await runTests(PROJECTS, { args: ['test/e2e'], env: { GDN_TEST_NODE: node } }))) process.exitCode = 1
}
