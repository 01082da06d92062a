import { stat } from 'node:fs/promises'

/** Returns whether a path exists. A dangling symbolic link doesn't count. */
export async function pathExists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
