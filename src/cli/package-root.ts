import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns the folder of the package, which contains README.md and completions/, for the sources and for the bundle. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  // The executable's folder has no package.json.
  while (!existsSync(join(folder, 'completions')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}
