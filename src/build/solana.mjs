// `npm run test:solana`: the tests of Solana clusters by RPC URL against surfpool, a node of somebody else's, in the
// place of the stand-in of our own. Its binary comes from an npm package, kept in the cache directory.
import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from './paths.mjs'
import { run } from './run.mjs'
import { setUp } from './setup.mjs'

const VERSION = '1.5.0'
const PACKAGES = {
  'linux-x64': 'surfpool-linux-x64-gnu',
  'darwin-arm64': 'surfpool-darwin-arm64',
  'darwin-x64': 'surfpool-darwin-x64',
}
const TESTS = ['test/server/chain/solana/cluster.test.ts', 'test/cli/chain-solana.test.ts']

/** Path of the package, fetched when it isn't there yet. */
async function fetchSurfpool() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (name === undefined) throw new Error(`surfpool is not made for ${process.platform}-${process.arch}`)
  const prefix = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gdn', 'surfpool', VERSION)
  await mkdir(prefix, { recursive: true })
  await writeFile(join(prefix, 'package.json'), '{"private":true}')
  const args = [
    'install',
    '--prefix',
    prefix,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `@solana/${name}@${VERSION}`,
  ]
  const { code, output } = await run('npm', args)
  if (code !== 0) throw new Error(`surfpool can't be fetched:\n${output}`)
  return join(prefix, 'node_modules', '@solana', name)
}

await setUp()
const env = { ...process.env, GDN_TEST_SURFPOOL: await fetchSurfpool() }
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const child = spawn(process.execPath, [vitest, 'run', '--project', 'unit', ...TESTS], {
  cwd: root,
  env,
  stdio: 'inherit',
})
process.exitCode = await new Promise((resolve) => child.once('close', resolve))
