import { stat } from 'node:fs/promises'

/** Returns whether a path exists. A dangling symbolic link doesn't count. */
export async function pathExists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

/** Returns whether a path leads to a folder, directly or through symbolic links. */
export async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}
