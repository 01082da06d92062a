// Packages that tests need now and then and nobody should have to install: kept in the cache directory.
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.mjs'

/** Path of a package of the registry, fetched when it isn't there yet. */
export async function cachedPackage(name, version) {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gdn', 'packages')
  const prefix = join(cache, `${name.replace('/', '-')}@${version}`)
  await mkdir(prefix, { recursive: true })
  await writeFile(join(prefix, 'package.json'), '{"private":true}')
  const args = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]
  const { code, output } = await run('npm', args)
  if (code !== 0) throw new Error(`${name}@${version} can't be fetched:\n${output}`)
  return join(prefix, 'node_modules', name)
}
