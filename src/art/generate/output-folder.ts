import { appendFile, lstat, mkdir, readdir, readFile, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { syncDirectory } from '../../core/durable-file.ts'
import { GdnError, systemCode } from '../../core/errors.ts'
import { withPathInErrors } from '../../core/file-error.ts'
import { isDirectory, pathExists } from '../../core/path-exists.ts'
import { quoted } from '../../core/quoted.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { shellWord } from '../../core/shell-word.ts'
import { EDITION_FILE, MANIFEST_FILE } from '../../manifest/edition-files.ts'
import { type GeneratedImage, readIfUnchanged, writeSynced } from './image-job.ts'

export const IMAGE_FOLDER = 'images'
export const PAGE_FILE = 'art.html'

const JOURNAL_FILE = 'journal.jsonl'

const hashSchema = z.string().regex(/^[0-9a-f]{64}$/)
const madeImageSchema = z.object({
  number: z.int().positive(),
  file: z.string().regex(/^images\/[\w.-]+$/),
  sha256: hashSchema,
  pixels: hashSchema.nullable(),
})

/** The content of `edition.json`. */
export interface EditionFile {
  /** The SHA-256 of the manifest and of the page, as lower-case hex. */
  files: Readonly<Record<string, string>>
  gdn: string
  /** The digest of all data on which the files depend. */
  inputs: string
  sharp: string
  seed: string
  count: number
  images: readonly GeneratedImage[]
}

/** Number of digits of the digest in the name of a draft. */
const DRAFT_DIGITS = 12
const draftName = (out: string, digits: string): string => `.${basename(out)}.${digits}.partial`

/**
 * The folder in which the images are generated, next to the output folder. Its name depends on all inputs of the
 * images. A repeated command therefore finds exactly the images that it generated before.
 */
export class DraftFolder {
  readonly path: string
  readonly #out: string

  private constructor(out: string, path: string) {
    this.#out = out
    this.path = path
  }

  /** @param inputs the digest of all data on which the files depend */
  static async open(out: string, inputs: string): Promise<DraftFolder> {
    const path = join(dirname(out), draftName(out, inputs.slice(0, DRAFT_DIGITS)))
    await mkdir(join(path, IMAGE_FOLDER), { recursive: true })
    return new DraftFolder(out, path)
  }

  /** Returns the complete images that an earlier command generated, by NFT number. */
  async readMadeImages(): Promise<Map<number, GeneratedImage>> {
    const images = new Map<number, GeneratedImage>()
    for (const line of (await readText(join(this.path, JOURNAL_FILE))).split('\n')) {
      const image = parseOrNull(madeImageSchema, line)
      if (image === null) continue
      if ((await readIfUnchanged({ path: join(this.path, image.file), sha256: image.sha256 })) !== null) {
        images.set(image.number, image)
      }
    }
    return images
  }

  /** Records a completed image. */
  async record(image: GeneratedImage): Promise<void> {
    const path = join(this.path, JOURNAL_FILE)
    await withPathInErrors(path, () => appendFile(path, `${JSON.stringify(image)}\n`))
  }

  /** Writes a file. @returns its SHA-256, as lower-case hex */
  async write(name: string, text: string): Promise<string> {
    await writeSynced(join(this.path, name), text)
    return sha256Hex(text)
  }

  /**
   * Renames the folder to the output folder. First renames an existing output folder, which stays next to the new one.
   *
   * @returns the path of the former folder; null if there was none
   */
  async publish(): Promise<string | null> {
    await syncDirectory(join(this.path, IMAGE_FOLDER))
    await rm(join(this.path, JOURNAL_FILE), { force: true })
    await syncDirectory(this.path)
    const former = await moveAside(this.#out)
    try {
      await rename(this.path, this.#out)
    } catch (error) {
      if (former !== null) await rename(former, this.#out)
      throw error
    }
    await syncDirectory(dirname(this.#out))
    return former
  }
}

/**
 * Renames a folder to the first free name such as `drop.before-2`. Deletes the folder instead if it is empty. Returns
 * null if no folder was renamed.
 */
async function moveAside(out: string): Promise<string | null> {
  if (!(await pathExists(out))) return null
  if ((await readdir(out)).length === 0) {
    await rmdir(out)
    return null
  }
  for (let number = 1; ; number++) {
    const former = `${out}.before-${number}`
    if (await pathExists(former)) continue
    await rename(out, former)
    return former
  }
}

/**
 * Maximum length of the folder's name in bytes. File systems allow 255 bytes, and the names of the draft, the lock and
 * the former folder are longer.
 */
const MAX_NAME_BYTES = 200
const FORMER_SUFFIX = /\.before-\d+$/

/**
 * Checks that an output folder can be written. It must be missing, empty, or an output of this command.
 *
 * @throws GdnError `usage`
 */
export async function checkOutput(out: string): Promise<void> {
  const outputError = (message: string, hint: string) =>
    new GdnError('usage', message, { place: { flag: '--out' }, hint })
  if (Buffer.byteLength(basename(out)) > MAX_NAME_BYTES) {
    throw outputError(`the name of the folder has more than ${MAX_NAME_BYTES} bytes`, 'Use a shorter name.')
  }
  if (!(await isDirectory(dirname(out)))) {
    throw outputError(
      `the folder ${quoted(dirname(out))} does not exist`,
      'Create the folder, or use a path in an existing folder.',
    )
  }
  if (FORMER_SUFFIX.test(out)) {
    const message = `${quoted(basename(out))} is a name that gdn reserves for replaced folders`
    throw outputError(message, 'Use another name. To use a folder that gdn replaced, rename it first.')
  }
  const isLink = await lstat(out).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  )
  if (isLink) {
    const target = await realpath(out).catch(() => null)
    const hint =
      target === null ? 'Delete the link, or use another name.' : `Use the folder itself: --out ${shellWord(target)}`
    throw outputError(`${quoted(out)} is a symbolic link`, hint)
  }
  if (!(await pathExists(out))) return
  if (!(await isDirectory(out))) throw outputError(`${quoted(out)} is not a folder`, 'Use another name.')
  const names = await readdir(out)
  if (names.length === 0 || names.includes(EDITION_FILE)) return
  throw outputError(`${quoted(out)} was not created by gdn art generate`, 'Use the name of a new folder.')
}

const editionFileSchema = z.object({
  inputs: hashSchema,
  images: z.array(madeImageSchema),
  files: z.partialRecord(z.enum([MANIFEST_FILE, PAGE_FILE]), hashSchema),
})

/** An output folder that an earlier command generated. */
export interface EarlierOutput {
  inputs: string
  /** The images, by NFT number. */
  images: Map<number, GeneratedImage>
  /** The SHA-256 of the manifest and of the page. */
  files: ReadonlyMap<string, string>
}

/** Reads an output folder; null if there is none. */
export async function readOutput(out: string): Promise<EarlierOutput | null> {
  const edition = parseOrNull(editionFileSchema, await readText(join(out, EDITION_FILE)))
  if (edition === null) return null
  const { inputs, images, files } = edition
  return {
    inputs,
    images: new Map(images.map((image) => [image.number, image])),
    files: new Map(Object.entries(files)),
  }
}

/** The differences between an output folder and its recorded hashes. */
export interface OutputChanges {
  /** Files whose content has changed, relative to the folder. */
  edited: readonly string[]
  /** Files and folders that gdn didn't write, relative to the folder. Excludes hidden ones. */
  added: readonly string[]
  /** Whether a file is missing. */
  isIncomplete: boolean
}

/** Compares the files of an output folder with their recorded hashes. */
export async function findChanges(out: string, { files, images }: EarlierOutput): Promise<OutputChanges> {
  const edited: string[] = []
  let isIncomplete = false
  const recorded = [...files, ...[...images.values()].map(({ file, sha256 }) => [file, sha256] as const)]
  for (const [file, sha256] of recorded) {
    const path = join(out, file)
    if ((await readIfUnchanged({ path, sha256 })) !== null) continue
    if (await pathExists(path)) edited.push(file)
    else isIncomplete = true
  }
  const knownNames = new Set([EDITION_FILE, IMAGE_FOLDER, ...recorded.map(([file]) => file)])
  const names = [
    ...(await readVisibleNames(out)),
    ...(await readVisibleNames(join(out, IMAGE_FOLDER))).map((name) => `${IMAGE_FOLDER}/${name}`),
  ]
  return { edited, added: names.filter((name) => !knownNames.has(name)), isIncomplete }
}

/** Returns the names in a folder, except hidden ones such as .DS_Store. */
async function readVisibleNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => !name.startsWith('.')).sort()
}

/** An unfinished folder of a command with different settings or images. */
export interface UnfinishedOutput {
  path: string
  bytes: number
  /** Whether the folder changed within the last minute. If so, another command may still be writing to it. */
  isRecent: boolean
}

const RECENT_MS = 60_000

/** Finds the folders of other unfinished commands for the same output folder. */
export async function findUnfinishedFolders(out: string): Promise<UnfinishedOutput[]> {
  const parent = dirname(out)
  const start = `.${basename(out)}.`
  const entries = await readdir(parent, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const drafts = names.filter((name) => name.startsWith(start) && DRAFT_SUFFIX.test(name.slice(start.length)))
  return await Promise.all(
    drafts.sort().map(async (name) => {
      const path = join(parent, name)
      const { bytes, changedAt } = await measureFolder(path)
      return { path, bytes, isRecent: Date.now() - changedAt < RECENT_MS }
    }),
  )
}

const DRAFT_SUFFIX = new RegExp(`^[0-9a-f]{${DRAFT_DIGITS}}\\.partial$`)

/** Returns the total size of a folder's files, and the time of the last change, in milliseconds since the epoch. */
async function measureFolder(folder: string): Promise<{ bytes: number; changedAt: number }> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  let [bytes, changedAt] = [0, 0]
  for (const entry of entries) {
    const stats = entry.isFile() ? await stat(join(entry.parentPath, entry.name)).catch(() => null) : null
    bytes += stats?.size ?? 0
    changedAt = Math.max(changedAt, stats?.mtimeMs ?? 0)
  }
  return { bytes, changedAt }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return ''
    throw error
  }
}

function parseOrNull<Value>(schema: z.ZodType<Value>, text: string): Value | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
