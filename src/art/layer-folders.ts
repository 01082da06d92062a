import { readdir, stat } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { GdnError, systemCode } from '../core/errors.ts'
import { fileError } from '../core/file-error.ts'
import { quoted } from '../core/quoted.ts'
import { sniffContentType } from '../files/content-type.ts'
import { readLocalHead } from '../files/file-content.ts'

export interface FoundLayer {
  name: string
  /** The name of the layer's folder. */
  folder: string
  traits: readonly FoundTrait[]
}

export interface FoundTrait {
  name: string
  file: string
  /** The weight in the file name, as in HashLips' `name#weight.png`. Default: 1. */
  weight: number
}

/** Matches files that operating systems create. */
const IGNORED_FILE = /^(?:\..*|Thumbs\.db|desktop\.ini)$/i
/** Matches notes and image sources, which are often in layer folders. */
const TEXT_FILE = /^(?:readme|license)$|\.(?:txt|md|pdf|rtf|docx?|json|ya?ml|csv|psd|ai|kra|xcf|procreate|zip)$/i
/** The usual name of the file that `gdn art init` prints. It may be in the folder that contains the layers. */
const OUTPUT_FILE = 'art.yaml'
const WEIGHTED_NAME = /^(.*\S)\s*#\s*(\d{1,9}(?:\.\d{1,6})?)$/
/** Matches a number that only orders the folders: `01_`, `2. `, `3 - `. */
const ORDER_PREFIX = /^\d+(?:[\s._-]+)(?=\S)/

/**
 * Reads a folder that contains a folder for each layer, in natural order, with one image for each trait.
 *
 * @param path the path relative to `cwd`, in the form that messages use
 * @param onSkipped called with the path of each file whose name isn't that of an image, such as readme.txt
 * @throws GdnError `invalid_input` with the path of an entry that is not allowed: an empty layer, a folder in a
 *   layer, a file whose content isn't an image, or names that are equal after cleaning
 */
export async function readLayerFolders(path: string, cwd: string, onSkipped: OnSkipped): Promise<FoundLayer[]> {
  // The shell creates the output file before gdn reads the folder, so ignore it.
  const all = (await readEntries(path, cwd)).filter(({ name, isFolder }) => isFolder || name !== OUTPUT_FILE)
  const entries = skipTextFiles(all, onSkipped)
  const [file] = entries.filter(({ isFolder }) => !isFolder)
  if (file !== undefined) {
    throw inputError(
      file.path,
      'is not in the folder of a layer',
      'Create a folder for each layer, and move its images there.',
    )
  }
  if (entries.length === 0)
    throw inputError(path, 'has no folders', 'Create a folder for each layer, and move its images there.')
  const names = new Map<string, string>()
  const layers: FoundLayer[] = []
  for (const { name: folder, path: at } of entries) {
    const name = cleanName(folder.replace(ORDER_PREFIX, ''), at)
    if (name.includes('/')) throw inputError(at, 'has a slash in its name', 'Rename the folder.')
    checkUniqueName(names, name, at)
    layers.push({ name, folder, traits: await readTraits(at, cwd, onSkipped) })
  }
  return layers
}

/** Called with the path of each skipped file. */
type OnSkipped = (path: string) => void

/** Omits files whose names aren't those of images, such as readme.txt. */
function skipTextFiles(entries: readonly Entry[], onSkipped: OnSkipped): Entry[] {
  const isText = ({ name, isFolder }: Entry) => !isFolder && TEXT_FILE.test(name)
  for (const { path } of entries.filter(isText)) onSkipped(path)
  return entries.filter((entry) => !isText(entry))
}

async function readTraits(folder: string, cwd: string, onSkipped: OnSkipped): Promise<FoundTrait[]> {
  const entries = skipTextFiles(await readEntries(folder, cwd), onSkipped)
  const [nested] = entries.filter(({ isFolder }) => isFolder)
  if (nested !== undefined) {
    throw inputError(
      nested.path,
      'is a folder inside the folder of a layer',
      'Move the folder to the same level as the other layers, or delete it.',
    )
  }
  if (entries.length === 0)
    throw inputError(folder, 'is empty: a layer needs an image', 'Add an image, or delete the folder.')
  const names = new Map<string, string>()
  const traits: FoundTrait[] = []
  for (const { name: file, path } of entries) {
    const type = sniffContentType(await readLocalHead(resolve(cwd, path)))
    if (!type.startsWith('image/'))
      throw inputError(path, `is not an image, but ${type}`, 'Replace or delete the file.')
    const stem = file.slice(0, file.length - extname(file).length)
    const [, nameInFile = stem, weight = '1'] = WEIGHTED_NAME.exec(stem) ?? []
    const name = cleanName(nameInFile, path)
    checkUniqueName(names, name, path)
    traits.push({ name, file, weight: Number(weight) })
  }
  return traits
}

interface Entry {
  name: string
  path: string
  isFolder: boolean
}

async function readEntries(folder: string, cwd: string): Promise<Entry[]> {
  const names = await readdir(resolve(cwd, folder)).catch((error: unknown) => {
    const reason = systemCode(error) === 'ENOENT' ? "doesn't exist" : 'is not a folder'
    const isKnown = ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')
    throw isKnown
      ? inputError(folder, reason, 'Pass the folder that contains the folders of the layers.')
      : (fileError(error) ?? error)
  })
  const entries: Entry[] = []
  for (const name of names.filter((candidate) => !IGNORED_FILE.test(candidate)).sort(compareNaturally)) {
    const path = join(folder, name)
    const stats = await stat(resolve(cwd, path)).catch((error: unknown) => {
      throw inputError(path, "can't be read", `Replace or delete the file (${systemCode(error)}).`)
    })
    if (!stats.isDirectory() && !stats.isFile()) throw inputError(path, 'is neither a file nor a folder', 'Delete it.')
    entries.push({ name, path, isFolder: stats.isDirectory() })
  }
  return entries
}

/**
 * Compares names, with the numbers in them compared by value: `2 Eyes` is before `10 Hat`. The order is the same on
 * every machine.
 */
function compareNaturally(a: string, b: string): number {
  const [parts, otherParts] = [a, b].map((name) => name.match(/\d+|\D+/g) ?? [])
  for (const [index, part] of (parts ?? []).entries()) {
    const against = otherParts?.[index]
    if (against === undefined) return 1
    const isNumeric = /^\d/.test(part) && /^\d/.test(against)
    if (isNumeric && BigInt(part) !== BigInt(against)) return BigInt(part) < BigInt(against) ? -1 : 1
    if (!isNumeric && part !== against) return part < against ? -1 : 1
  }
  return (parts?.length ?? 0) - (otherParts?.length ?? 0) || (a < b ? -1 : 1)
}

function cleanName(name: string, path: string): string {
  const cleaned = name.normalize('NFC').replaceAll(/\s+/g, ' ').trim()
  if (cleaned === '' || /\p{Cc}/u.test(cleaned) || cleaned.length > 100 || !cleaned.isWellFormed()) {
    throw inputError(path, 'has an invalid name', 'Use a name of 1 to 100 visible characters.')
  }
  return cleaned
}

function checkUniqueName(names: Map<string, string>, name: string, path: string): void {
  const earlier = names.get(name.toLowerCase())
  if (earlier !== undefined)
    throw inputError(path, `has the same name as ${quoted(earlier)}: ${quoted(name)}`, 'Rename one of them.')
  names.set(name.toLowerCase(), path)
}

const inputError = (file: string, message: string, hint: string): GdnError =>
  new GdnError('invalid_input', message, { place: { file }, hint })
