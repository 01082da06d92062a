import { basename, dirname, relative } from 'node:path'

/**
 * Returns the name of a local file for messages: its path relative to the folder of the manifest, or its base name if
 * it is elsewhere.
 */
export function shownName(manifest: string | null, path: string): string {
  const below = manifest === null ? '..' : relative(dirname(manifest), path)
  return below.startsWith('..') ? basename(path) : below
}
