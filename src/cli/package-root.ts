import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Returns the package's root folder, which contains README.md and completions/. Works both in the sources and in the
 * bundle.
 */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  // Search for completions/, because the folder of the executable has no package.json.
  while (!existsSync(join(folder, 'completions')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}
