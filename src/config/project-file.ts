import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTextIfThere } from './read-text.ts'
import type { ProjectFile } from './schema.ts'

/** Only JSON and YAML: a project's JavaScript is code, and reading configuration must not run it. */
const NAMES = ['.gdnrc', '.gdnrc.json', '.gdnrc.yaml', 'gdn.config.json', 'gdn.config.yaml'] as const
const PACKAGE = 'package.json'
const MAX_BYTES = 1024 * 1024

/**
 * The project's configuration: the nearest file upwards of `cwd`, not beyond the repository's root or the home
 * folder. Looking costs a few stats; the reader is loaded only when something is there.
 */
export async function loadProjectFile(cwd: string, home: string | undefined): Promise<ProjectFile | null> {
  const path = await findProjectFile(cwd, home)
  if (path === null) return null
  const { readProjectFile } = await import('./read-project-file.ts')
  return await readProjectFile(path)
}

async function findProjectFile(cwd: string, home: string | undefined): Promise<string | null> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of NAMES) {
      const path = join(folder, name)
      if (existsSync(path)) return path
    }
    if (await mentionsGdn(join(folder, PACKAGE))) return join(folder, PACKAGE)
    if (folder === home || folder === dirname(folder) || existsSync(join(folder, '.git'))) return null
  }
}

/** Bounded, and of regular files only: a repository that somebody cloned may have a link to /dev/zero for it. */
async function mentionsGdn(path: string): Promise<boolean> {
  try {
    const text = await readTextIfThere(path, MAX_BYTES, 'invalid_config')
    const value: unknown = text === null ? null : JSON.parse(text)
    return value !== null && typeof value === 'object' && 'gdn' in value && typeof value.gdn === 'object'
  } catch {
    return false
  }
}
