import { relative } from 'node:path'

/**
 * Returns a path relative to the working directory if the path is inside of it. Otherwise, returns the path unchanged.
 */
export function shortPath(path: string, cwd: string): string {
  const below = relative(cwd, path)
  if (below === '' || below.startsWith('..') || below.length >= path.length) return path
  return below.startsWith('-') ? `./${below}` : below
}
