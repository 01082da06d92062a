import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the package, which holds README.md and completions/: from the sources and from the bundle alike. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  // The bundle has a package.json of its own, which says that it is CommonJS.
  while (!existsSync(join(folder, 'bin', 'gdn.js')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}
