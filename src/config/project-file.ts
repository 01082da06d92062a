import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTextIfThere } from './read-text.ts'
import type { ProjectFile } from './schema.ts'

/**
 * Names of project files. Only JSON and YAML are supported, because reading the configuration must not run the
 * project's JavaScript.
 */
const CONFIG_FILE_NAMES = ['.gdnrc', '.gdnrc.json', '.gdnrc.yaml', 'gdn.config.json', 'gdn.config.yaml'] as const
const PACKAGE_FILE = 'package.json'
const MAX_PACKAGE_BYTES = 1024 * 1024

/**
 * Loads the project's configuration from the nearest file in `cwd` or a parent folder, but not above the repository's
 * root or the home directory. The search needs only a few stat calls. The reader is loaded only if a file exists.
 */
export async function loadProjectFile(cwd: string, home: string | undefined): Promise<ProjectFile | null> {
  const path = await findProjectFile(cwd, home)
  if (path === null) return null
  const { readProjectFile } = await import('./read-project-file.ts')
  return await readProjectFile(path)
}

async function findProjectFile(cwd: string, home: string | undefined): Promise<string | null> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = await findProjectFileIn(folder)
    if (path !== null) return path
    if (folder === home || folder === dirname(folder) || existsSync(join(folder, '.git'))) return null
  }
}

/** Returns the path of the project's configuration in a folder, or null if the folder has none. */
export async function findProjectFileIn(folder: string): Promise<string | null> {
  const path = CONFIG_FILE_NAMES.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (path !== undefined) return path
  return (await hasGdnConfig(join(folder, PACKAGE_FILE))) ? join(folder, PACKAGE_FILE) : null
}

/**
 * Returns whether a package.json has a `gdn` object. Reads only regular files of limited size, because the file in a
 * cloned repository may be a link to /dev/zero.
 */
async function hasGdnConfig(path: string): Promise<boolean> {
  try {
    const text = await readTextIfThere(path, MAX_PACKAGE_BYTES, 'invalid_config')
    const value: unknown = text === null ? null : JSON.parse(text)
    return value !== null && typeof value === 'object' && 'gdn' in value && typeof value.gdn === 'object'
  } catch {
    return false
  }
}
