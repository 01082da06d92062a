import { lstat, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Returns the path under which a file exists. If there is none, but its folder has exactly one file whose name differs
 * only in Unicode normalization, returns the path of that file. macOS may decompose the characters of file names, such
 * as the ö of `Möwe.png`. Otherwise, returns the path as it is.
 */
export async function existingPath(path: string): Promise<string> {
  const name = basename(path)
  if (isAscii(path) || name === '' || (await exists(path))) return path
  const folder = await existingPath(dirname(path))
  const names = await readdir(folder).catch(() => [])
  const [found, other] = names.filter((one) => one.normalize('NFC') === name.normalize('NFC'))
  return found === undefined || other !== undefined ? path : join(folder, found)
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

const exists = async (path: string): Promise<boolean> =>
  await lstat(path).then(
    () => true,
    () => false,
  )
