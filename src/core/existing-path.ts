import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Returns the path at which a file can be read. If the given path has no file, but the name of exactly one file in the
 * folder differs only in Unicode normalization, returns the path of that file. Otherwise, returns the path unchanged.
 * macOS may decompose characters in file names, such as the ö in `Möwe.png`. All code that reads local files of NFTs
 * resolves paths with this function. Rows keep the path in the manifest, which is the same on each machine.
 */
export function existingPath(path: string): string {
  const name = basename(path)
  if (isAscii(path) || name === '' || existsSync(path)) return path
  const directory = existingPath(dirname(path))
  const spelling = spelledIn(directory, name)
  return spelling === null ? path : join(directory, spelling)
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/**
 * The file names in the folder that was read last, keyed by their composed form. A name is null if several names have
 * the same composed form.
 */
let listedDirectory: { directory: string; names: Map<string, string | null> } | undefined

/**
 * Reads a folder again only for an unknown name, because the folder may contain as many images as the manifest has
 * rows.
 */
function spelledIn(directory: string, name: string): string | null {
  const composed = name.normalize('NFC')
  const knownSpelling = listedDirectory?.directory === directory ? listedDirectory.names.get(composed) : undefined
  if (knownSpelling != null && existsSync(join(directory, knownSpelling))) return knownSpelling
  listedDirectory = { directory, names: new Map() }
  for (const entry of listDirectory(directory)) {
    const form = entry.normalize('NFC')
    listedDirectory.names.set(form, listedDirectory.names.has(form) ? null : entry)
  }
  return listedDirectory.names.get(composed) ?? null
}

/** Returns the names of the files in a folder; none if the folder can't be read. */
export function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
