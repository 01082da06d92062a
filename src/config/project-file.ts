import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProjectFile } from './schema.ts'

/** Only JSON and YAML: a project's JavaScript is code, and reading configuration must not run it. */
const NAMES = ['.gdnrc', '.gdnrc.json', '.gdnrc.yaml', 'gdn.config.json', 'gdn.config.yaml'] as const
const PACKAGE = 'package.json'

/**
 * The project's configuration: the nearest file upwards of `cwd`, not beyond the repository's root or the home
 * folder. Looking costs a few stats; the reader is loaded only when something is there.
 */
export async function loadProjectFile(cwd: string, home: string | undefined): Promise<ProjectFile | null> {
  const path = findProjectFile(cwd, home)
  if (path === null) return null
  const { readProjectFile } = await import('./read-project-file.ts')
  return await readProjectFile(path)
}

function findProjectFile(cwd: string, home: string | undefined): string | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of NAMES) {
      const path = join(folder, name)
      if (existsSync(path)) return path
    }
    if (mentionsGdn(join(folder, PACKAGE))) return join(folder, PACKAGE)
    if (folder === home || folder === dirname(folder) || existsSync(join(folder, '.git'))) return null
  }
}

function mentionsGdn(path: string): boolean {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return value !== null && typeof value === 'object' && 'gdn' in value && typeof value.gdn === 'object'
  } catch {
    return false
  }
}
