import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { shellWord } from '../../core/shell-word.ts'
import { EDITION_FILE, MANIFEST_FILE } from '../../manifest/edition-files.ts'

/** The folders of a build, and the names of their files. The paths are in the form that messages use. */
export interface BuildFolder {
  /** The folder that the user specified. */
  path: string
  format: 'hashlips' | 'sugar'
  /** The folder of the metadata files. */
  metadata: string
  /** The folder of the images. It is the metadata folder, unless there is a folder named `images`. */
  images: string
  /** The path of the image folder, if it is missing from HashLips' output. */
  missingImageFolder: string | null
  /** Metadata files, in ascending order. Several files can have the same number, such as 1.json and 01.json. */
  numberedFiles: readonly { number: number; name: string }[]
  /** Names of JSON files without a number. */
  otherFiles: readonly string[]
  /** Whether there is a list of all metadata, which HashLips writes last. */
  hasList: boolean
  /** Whether there is a file with the collection's metadata, which sugar uses. */
  hasCollection: boolean
  /** Paths of folders that aren't imported. */
  ignoredFolders: readonly string[]
  /** All other files in the image folder. */
  imageNames: ReadonlySet<string>
}

const NUMBERED_FILE = /^(\d{1,9})\.json$/
export const LIST_FILE = '_metadata.json'
export const COLLECTION_FILE = 'collection.json'
const FOLDER_HINT = 'Pass the build folder of HashLips, or the assets folder of sugar.'

/**
 * Finds the metadata and the images that HashLips or sugar wrote.
 *
 * @throws GdnError `invalid_input` if the folder has no metadata. The hint names the folder or command that the user
 * probably meant.
 */
export async function openBuildFolder(path: string, cwd: string): Promise<BuildFolder> {
  const top = await readEntries(path, cwd)
  const metadata = top.folders.includes('json') ? join(path, 'json') : path
  const images = top.folders.includes('images') ? join(path, 'images') : metadata
  const inMetadata = metadata === path ? top : await readEntries(metadata, cwd)
  const inImages = images === metadata ? inMetadata : await readEntries(images, cwd)
  const json = inMetadata.files.filter((name) => /\.json$/i.test(name))
  const numberedFiles = json
    .flatMap((name) => {
      const [, digits] = NUMBERED_FILE.exec(name) ?? []
      return digits === undefined ? [] : [{ number: Number(digits), name }]
    })
    .sort((a, b) => a.number - b.number)
  const hasList = json.includes(LIST_FILE)
  const folders = new Map([
    [path, top.folders],
    [metadata, inMetadata.folders],
    [images, inImages.folders],
  ])
  const ignored = [...folders].flatMap(([parent, names]) => names.map((name) => join(parent, name)))
  if (numberedFiles.length === 0 && !hasList) throw await notABuildError(path, cwd, top)
  if (images === metadata && basename(resolve(cwd, path)) === 'json' && (await isFolder(path, '../images', cwd))) {
    throw inputError(
      path,
      'has no images',
      `Pass its parent folder: ${formatImportCommand(dirname(resolve(cwd, path)))}`,
    )
  }
  const imageNames = new Set(inImages.files.filter((name) => !/\.json$/i.test(name)))
  const lacksImages = metadata !== path && images === metadata && ![...imageNames].some(isImageName)
  return {
    path,
    missingImageFolder: lacksImages ? join(path, 'images') : null,
    format: metadata === path && images === path && !hasList ? 'sugar' : 'hashlips',
    metadata,
    images,
    numberedFiles,
    // Omit the lists that forks of HashLips write. Their names begin with an underscore.
    otherFiles: json.filter((name) => !NUMBERED_FILE.test(name) && !name.startsWith('_') && name !== COLLECTION_FILE),
    hasList,
    hasCollection: json.includes(COLLECTION_FILE),
    ignoredFolders: ignored.filter((folder) => folder !== metadata && folder !== images).sort(),
    imageNames,
  }
}

export const isImageName = (name: string): boolean => /\.(?:png|jpe?g|gif|webp|avif|svg|bmp|tiff?)$/i.test(name)

const formatImportCommand = (folder: string) => `gdn art import ${shellWord(folder)}`

interface Entries {
  files: string[]
  folders: string[]
}

async function readEntries(folder: string, cwd: string): Promise<Entries> {
  const entries = await readdir(resolve(cwd, folder), { withFileTypes: true }).catch((error: unknown) => {
    const code = systemCode(error)
    if (code === 'ENOENT') throw inputError(folder, "doesn't exist", FOLDER_HINT)
    if (code === 'ENOTDIR') throw inputError(folder, 'is not a folder', FOLDER_HINT)
    throw fileError(error) ?? error
  })
  const visible = entries.filter(({ name }) => !name.startsWith('.'))
  return {
    files: visible.filter((entry) => !entry.isDirectory()).map(({ name }) => name),
    folders: visible.filter((entry) => entry.isDirectory()).map(({ name }) => name),
  }
}

const isFolder = async (path: string, name: string, cwd: string): Promise<boolean> =>
  (await readNames(resolve(cwd, path, name))) !== null

const readNames = async (path: string): Promise<string[] | null> => await readdir(path).catch(() => null)

/** Returns the error for a folder without metadata. */
async function notABuildError(path: string, cwd: string, { files, folders }: Entries): Promise<GdnError> {
  const message = 'has no metadata files such as 1.json'
  if (folders.includes('json')) return inputError(join(path, 'json'), message, 'Generate the NFTs with HashLips first.')
  if (files.includes(EDITION_FILE) && files.includes(MANIFEST_FILE)) {
    const hint = `gdn art generate created this folder, which contains a manifest: ${shellWord(join(path, MANIFEST_FILE))}`
    return inputError(path, message, hint)
  }
  for (const name of ['build', 'assets']) {
    if (folders.includes(name)) return inputError(path, message, `Try: ${formatImportCommand(join(path, name))}`)
  }
  if (files.length === 0 && folders.length > 0) {
    const [first = ''] = folders
    const inside = (await readNames(resolve(cwd, path, first))) ?? []
    if (inside.some((name) => /\.(?:png|jpe?g|webp|gif)$/i.test(name))) {
      return inputError(
        path,
        `${message}, and seems to contain layers`,
        `For layers, run: gdn art init ${shellWord(path)} > art.yaml`,
      )
    }
  }
  return inputError(path, message, FOLDER_HINT)
}

const inputError = (file: string, message: string, hint: string): GdnError =>
  new GdnError('invalid_input', message, { place: { file }, hint })
