// `npm run test:solana`: runs the tests that use Solana clusters by RPC URL. Uses surfpool, a third-party node, instead
// of the fake node of the other tests. The binary of surfpool comes from an npm package in the cache directory.
import { cachedPackage } from './cached-package.mjs'
import { setUp } from './setup.mjs'
import { runTests } from './vitest.mjs'

const VERSION = '1.5.0'
const PACKAGES = {
  'linux-x64': '@solana/surfpool-linux-x64-gnu',
  'darwin-arm64': '@solana/surfpool-darwin-arm64',
  'darwin-x64': '@solana/surfpool-darwin-x64',
}
const TESTS = [
  'test/server/chain/solana/cluster.test.ts',
  'test/server/pipeline/restored-cluster.test.ts',
  'test/cli/chain/solana.test.ts',
]

const name = PACKAGES[`${process.platform}-${process.arch}`]
if (name === undefined) throw new Error(`surfpool is not available for ${process.platform}-${process.arch}`)

await setUp()
const env = { GDN_TEST_SURFPOOL: await cachedPackage(name, VERSION) }
if (!(await runTests(['core', 'soak'], { args: TESTS, env }))) process.exitCode = 1
