import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { MAX_FILE_BYTES } from '../api/endpoints/files.ts'
import { messageOf, systemCode } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { type FileProblem, type Inspection, inspectFile } from '../files/inspect/inspect-file.ts'
import { type Column, SAMPLE_URL } from './columns.ts'
import type { RowReport } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestRow } from './row.ts'

const MAX_CACHED = 10_000
const PATH_HINT = 'Paths are relative to the folder of the manifest. URLs begin with https://.'
const DRIVE_HINT = 'Use a path relative to the folder of the manifest, with / between folders.'
const SLASH_HINT = 'Use / in paths, even on Windows.'

/** Returns the error or the warning for a file. Only the first check of a file returns a warning. */
export type InspectFile = (path: string) => Promise<Inspection>

/**
 * Creates a check for local files. The check inspects each file once, unless there are too many files.
 *
 * @param folders the folders whose files a manifest may use: the manifest's own folder, and folders that the user added
 */
export function createFileCheck(folders: readonly string[]): InspectFile {
  const checked = new Map<string, FileProblem | null>()
  let roots: Promise<string[]> | undefined
  return async (path) => {
    const problem = checked.get(path)
    if (problem !== undefined) return { problem, warning: null }
    roots ??= Promise.all(folders.map((folder) => realpath(folder).catch(() => resolve(folder))))
    const result = await checkFile(path, await roots)
    if (checked.size >= MAX_CACHED) checked.clear()
    checked.set(path, result.problem)
    return result
  }
}

/** Checks a file. Doesn't open a file outside the folders. */
async function checkFile(spelled: string, roots: readonly string[]): Promise<Inspection> {
  const path = existingPath(spelled)
  const message = (await fileProblem(path)) ?? (await placeProblem(path, roots))
  if (message !== null) return { problem: { message, hint: await findPathHint(path) }, warning: null }
  try {
    const { problem, warning } = await inspectFile(path)
    return {
      problem: problem === null ? null : { ...problem, message: `is ${problem.message}: ${path}` },
      warning: warning === null ? null : `${warning}: ${path}`,
    }
  } catch (error) {
    return { problem: { message: `can't be read: ${messageOf(error)}` }, warning: null }
  }
}

async function findPathHint(path: string): Promise<string> {
  if (/(?:^|[\\/])[a-z]:[\\/]/i.test(path)) return DRIVE_HINT
  if (sep === '\\' || !path.includes('\\')) return PATH_HINT
  const isFile = (await fileProblem(existingPath(path.replaceAll('\\', '/')))) === null
  return isFile ? `The path is correct with / instead of \\. ${SLASH_HINT}` : `${SLASH_HINT} ${PATH_HINT}`
}

/**
 * Checks that a file is inside the folders. The files of a manifest are published permanently, and its author may be
 * another person. A manifest must not publish the user's keys through `../` or a symbolic link in a repository.
 */
async function placeProblem(path: string, roots: readonly string[]): Promise<string | null> {
  const real = await realpath(path).catch(() => null)
  if (real === null) return `doesn't exist: ${path}`
  const below = roots
    .map((root) => relative(root, real))
    .filter((relativePath) => !isAbsolute(relativePath) && !/^\.\.(?:[\\/]|$)/.test(relativePath))
  if (below.length === 0) {
    return `is outside the manifest's folder, and would be published: ${real}; move the file to the manifest's folder, or run gdn from a folder that contains both`
  }
  const isHidden = below.every((relativePath) => relativePath.split(/[\\/]/).some((part) => part.startsWith('.')))
  return isHidden ? `is a hidden file, or in a hidden folder, and would be published: ${real}` : null
}

async function fileProblem(path: string): Promise<string | null> {
  if (path.includes('\0')) return 'has a NUL character'
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) return `is a directory: ${path}`
    if (!stats.isFile()) return `is not a regular file: ${path}`
    if (stats.size === 0) return `is empty: ${path}`
    if (stats.size > MAX_FILE_BYTES)
      return `has ${stats.size} bytes, but at most ${MAX_FILE_BYTES} are allowed: ${path}`
    return null
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? `doesn't exist: ${path}` : `can't be read: ${messageOf(error)}`
  }
}

type Metadata = ManifestRow['metadata']
type LocalFiles = ManifestRow['localFiles']
type FileField = Metadata['file_fields'][number]

/**
 * Reads the file fields of a manifest, which contain URLs or paths. A local file has a sample URL until it is uploaded.
 */
export class FileFields {
  readonly #folder: string
  readonly #options: ManifestOptions

  /** @param folder the base folder of relative paths */
  constructor(folder: string, options: ManifestOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** @param localFiles receives the file if it is local */
  take(field: FileField, localFiles: LocalFiles, at: Column | string, report: RowReport): FileField {
    const { key, url } = field
    if (!isLocalPath(url)) {
      this.#options.onFileUrl?.(url, report.toPlace(at))
      return field
    }
    localFiles.push(this.#localFile(key, url, at, report))
    return { ...field, url: SAMPLE_URL }
  }

  /**
   * Reads all files of a metadata object. Leaves anything other than a file field unchanged for the API contract to
   * check.
   */
  takeAll(value: Record<string, unknown>, localFiles: LocalFiles, report: RowReport): Record<string, unknown> {
    if (!Array.isArray(value.file_fields)) return value
    const file_fields = value.file_fields.map((field: unknown, i) =>
      isFileField(field) ? this.take(field, localFiles, `file_fields[${i}].url`, report) : field,
    )
    return { ...value, file_fields }
  }

  #localFile(key: string, path: string, at: Column | string, report: RowReport): LocalFiles[number] {
    if (!this.#options.localFiles) {
      const name = typeof at === 'string' ? at : at.name
      report.add(
        at,
        `${name} is a local file, but this server accepts no uploads: ${path}`,
        'Use an http(s) or ipfs URL.',
      )
    }
    this.#options.onLocalFile?.(path, report.toPlace(at))
    return { key, path: isAbsolute(path) ? path : resolve(this.#folder, path) }
  }
}

/**
 * Returns whether a file cell is a path, which has no scheme. A single letter before a colon counts as a Windows drive.
 */
function isLocalPath(value: string): boolean {
  return value !== '' && !/^[a-z][a-z0-9+.-]+:/i.test(value)
}

function isFileField(field: unknown): field is { key: string; url: string } {
  if (field === null || typeof field !== 'object' || !('key' in field) || !('url' in field)) return false
  return typeof field.key === 'string' && typeof field.url === 'string'
}

/** Replaces the sample URLs of local files with empty ones. */
export function withoutSamples(metadata: Metadata, localFiles: LocalFiles): Metadata {
  if (localFiles.length === 0) return metadata
  const local = new Set(localFiles.map(({ key }) => key))
  const file_fields = metadata.file_fields.map(({ key, url }) => ({ key, url: local.has(key) ? '' : url }))
  return { ...metadata, file_fields }
}

/**
 * Returns the name of a local file for messages: its path relative to the manifest's folder, or its base name if it is
 * elsewhere.
 */
export function formatFileName(manifest: string | null, path: string): string {
  const below = manifest === null ? '..' : relative(dirname(manifest), path)
  return below.startsWith('..') ? basename(path) : below
}
