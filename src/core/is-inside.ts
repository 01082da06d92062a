import { sep } from 'node:path'

/** Returns whether an absolute path is a folder or is inside it. Compares the paths as text. */
export const isInside = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`)
