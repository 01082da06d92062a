// `npm run soak [-- <part> …]`: runs the long forms of tests, with new random seeds. Without a part, runs all of them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './paths.mjs'
import { setUpForTests } from './setup.mjs'
import { PARTS } from './suites.mjs'
import { runTests } from './vitest.mjs'

const LAST = ['postgres', 'mutations']

/** Returns whether all tests of a part passed. */
async function runPart(part) {
  if (part === 'mutations') {
    return spawnSync(process.execPath, [join(root, 'src/build/tools/mutate.mjs')], { stdio: 'inherit' }).status === 0
  }
  const project = part === 'postgres' ? 'more-postgres' : 'soak'
  return await runTests([project], { args: ['--maxWorkers=100%'], env: { GDN_SOAK: '1', GDN_SOAK_PARTS: part } })
}

const parts = [...Object.keys(PARTS), ...LAST]
const given = process.argv.slice(2)
const unknown = given.filter((part) => !parts.includes(part))
if (unknown.length > 0) {
  process.stderr.write(`unknown part ${unknown.join(', ')}: must be one of ${parts.join(', ')}\n`)
  process.exitCode = 2
} else {
  await setUpForTests()
  const failed = []
  for (const part of given.length > 0 ? given : parts) {
    process.stdout.write(`\nsoak: ${part}\n`)
    if (!(await runPart(part))) failed.push(part)
  }
  process.stdout.write(failed.length === 0 ? '\nsoak: all parts passed\n' : `\nsoak: failed: ${failed.join(', ')}\n`)
  if (failed.length > 0) process.exitCode = 1
}
