import { sep } from 'node:path'

/** Returns whether an absolute path is a folder or is inside it. Compares the paths as text. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
