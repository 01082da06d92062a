import { basename, dirname, relative } from 'node:path'

/**
 * Returns the name of a local file for people: its path from the folder of the manifest, or its last part elsewhere.
 */
export function shownName(manifest: string | null, path: string): string {
  const below = manifest === null ? '..' : relative(dirname(manifest), path)
  return below.startsWith('..') ? basename(path) : below
}
