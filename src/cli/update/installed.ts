import { readFileSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { packageRoot } from '../package-root.ts'

/** The installed npm package that contains this program. */
export interface InstalledPackage {
  name: string
  version: string
  description: string
  bin: string
  root: string
}

/**
 * Returns the installed package; null for a private package, for a source checkout (even if linked with npm), and for a
 * copy that npx fetched for a single run.
 */
export function installedPackage(root: string = packageRoot()): InstalledPackage | null {
  const path = realpathSync(root)
  if (!path.includes(`${sep}node_modules${sep}`) || path.includes(`${sep}_npx${sep}`)) return null
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const { name, version, description, bin, private: isPrivate } = manifest
  if (isPrivate === true || typeof name !== 'string' || typeof version !== 'string') return null
  return { name, version, description: String(description), bin: JSON.stringify(bin), root: path }
}
