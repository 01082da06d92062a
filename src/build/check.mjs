// `npm run check`: the checks that a change must pass. Prints one line for each check, and the output of failed checks.
// With `-- --changed`, also lists and runs the tests that belong to the uncommitted changes.
import { join } from 'node:path'
import { generateExamples } from '../../examples/generate.mjs'
import { generateBenchmarks, PAGES as PAGES_WITH_FIGURES } from './benchmarks.mjs'
import { generateChains } from './chains.mjs'
import { generateCompletions } from './completions.mjs'
import { findDrift } from './drift.mjs'
import { findWrongImports } from './import-directions.mjs'
import { findLongComments } from './long-comments.mjs'
import { root } from './paths.mjs'
import { generateReference } from './reference.mjs'
import { run } from './run.mjs'
import { ensureTools, setUpForTests } from './setup.mjs'
import { changedFiles, testsOf } from './tests-of.mjs'
import { toolPath } from './tool.mjs'
import { runTests } from './vitest.mjs'

const tsc = (folder) => run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], { cwd: root })
const tool = (name, ...args) => run(toolPath(name), args, { cwd: root })

/** Generated files that are committed. `generate(dir)` writes the current files of `paths` into `dir`. */
const GENERATORS = [
  {
    name: 'examples',
    paths: ['media', 'drop.csv', 'drop.json', 'drop.jsonl', 'art/layers', 'art/special'].map(
      (name) => `examples/${name}`,
    ),
    generate: generateExamples,
    command: 'node examples/generate.mjs',
  },
  {
    name: 'completions',
    paths: ['completions'],
    generate: generateCompletions,
    command: 'node src/build/completions.mjs',
  },
  {
    name: 'reference',
    paths: ['blockchains.md', 'commands', 'configuration.md', 'exit-codes.md', 'llms.txt'].map(
      (name) => `docs/${name}`,
    ),
    generate: generateReference,
    command: 'node src/build/reference.mjs',
  },
  {
    name: 'benchmarks',
    paths: PAGES_WITH_FIGURES,
    generate: generateBenchmarks,
    command: 'node src/build/benchmarks.mjs',
  },
]

const CHECKS = [
  { name: 'types (tsc)', run: () => tsc('.') },
  { name: 'types of the explorer (tsc)', run: () => tsc('src/explorer') },
  { name: 'types of the preview and report script (tsc)', run: () => tsc('src/cli/sheet/browser') },
  {
    name: 'import directions',
    run: async () => {
      const wrong = await findWrongImports(join(root, 'src'))
      return { code: wrong.length === 0 ? 0 : 1, output: wrong.join('\n') }
    },
  },
  {
    name: 'width of comments',
    run: async () => {
      const long = await findLongComments(root)
      return { code: long.length === 0 ? 0 : 1, output: long.join('\n') }
    },
  },
  {
    name: 'lint, format, import cycles (biome)',
    run: () => tool('biome', 'ci', '--colors=off', '--error-on-warnings', '.'),
  },
  { name: 'dead code, unused dependencies (knip)', run: () => tool('knip', '--treat-config-hints-as-errors') },
  ...GENERATORS.map((generator) => ({
    name: `generated files are current: ${generator.name}`,
    run: async () => {
      const output = await findDrift(root, generator)
      return { code: output === '' ? 0 : 1, output }
    },
  })),
]

async function check({ name, run }) {
  const { code, output } = await run().catch((error) => ({ code: 1, output: error.stack }))
  const passed = code === 0
  process.stdout.write(`${passed ? '✓' : '✗'} ${name}\n${passed ? '' : `${output.trimEnd()}\n\n`}`)
  return passed
}

async function generateSources() {
  const contracts = await import('./contracts.mjs')
  const clientTypes = await import('./client-types.mjs')
  await contracts.compileContracts()
  await generateChains()
  await clientTypes.generateClientTypes()
  return { code: 0, output: '' }
}

await ensureTools()
// Run this check first, because tsc reads the generated types.
const results = [await check({ name: 'contracts compile (solc), sources are generated', run: generateSources })]
results.push(...(await Promise.all(CHECKS.map(check))))
if (process.argv.includes('--changed')) results.push(await testChanges())
if (results.includes(false)) process.exitCode = 1

/** Runs the tests of uncommitted changes in all projects, including those that `npm test` omits. */
async function testChanges() {
  const tests = testsOf(root, await changedFiles(root))
  process.stdout.write(
    `\n${tests.length} test files belong to the changes\n${tests.map((test) => `  ${test}\n`).join('')}`,
  )
  if (tests.length === 0) return true
  await setUpForTests()
  return await runTests([], { args: tests })
}
