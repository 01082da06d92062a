// `node src/build/tool.mjs <name> [<argument>…]`: runs a program of src/build/tools, such as biome or knip. Installs
// that package first if necessary.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, toolsDir } from './paths.mjs'
import { run } from './run.mjs'
import { ensureTools } from './setup.mjs'

/** Returns the path of a program. */
export const toolPath = (name) => join(toolsDir, 'node_modules', '.bin', name)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [name, ...args] = process.argv.slice(2)
  await ensureTools()
  const { code } = await run(toolPath(name), args, { cwd: root, stdio: 'inherit' })
  process.exitCode = code
}
