import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { MAX_FILE_BYTES } from '../../../api/endpoints/files.ts'
import type { ApiClient } from '../../../client/api-client.ts'
import { GdnError, systemCode } from '../../../core/errors.ts'
import { existingPath } from '../../../core/existing-path.ts'
import { sha256OfFile } from '../../../core/sha256-of-file.ts'
import { inspectFile } from '../../../files/inspect/inspect-file.ts'
import { IN_FLIGHT } from '../../../operations/defaults.ts'
import type { Deps } from '../../deps.ts'
import type { KeyValue } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { mediaFlag } from '../../request/check-request.ts'

/** A local file of an NFT. The placeholder stands for its URL until the file is uploaded. */
export interface LocalFile {
  path: string
  placeholder: string
}

export interface DownloadedMedia {
  fields: { key: string; url: string }[]
  localFiles: LocalFile[]
  /** Warnings about files that some marketplaces may not show. Each names its flag. */
  warnings: string[]
}

/**
 * Reads the values of `--media` and `--image`. A value is a URL or the path of an existing file. Files are checked in
 * the same way as files in manifests.
 *
 * @param flagOf returns the flag of a key, for errors
 */
export async function readMedia(media: readonly KeyValue[], cwd: string, flagOf = mediaFlag): Promise<DownloadedMedia> {
  const fields: DownloadedMedia['fields'] = []
  const localFiles: LocalFile[] = []
  const warnings: string[] = []
  for (const { key, value } of media) {
    if (isUrl(value)) {
      fields.push({ key, url: value })
      continue
    }
    const path = existingPath(resolve(cwd, value))
    const warning = await checkFile(path, flagOf(key))
    if (warning !== null) warnings.push(`${flagOf(key)}: ${path} ${warning}`)
    const placeholder = `https://local.invalid/${localFiles.length}`
    localFiles.push({ path, placeholder })
    fields.push({ key, url: placeholder })
  }
  return { fields, localFiles, warnings }
}

const isUrl = (value: string) =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(value) || /^(data|javascript):/i.test(value) || value === ''

/**
 * Returns a warning about a file, or null.
 *
 * @throws GdnError `invalid_input` if the file isn't acceptable
 */
async function checkFile(path: string, flag: string): Promise<string | null> {
  const mediaError = (message: string, hint?: string) =>
    new GdnError('invalid_input', message, { place: { flag }, hint })
  const stats = await stat(path).catch((error: unknown) => {
    throw mediaError(systemCode(error) === 'ENOENT' ? `${path} doesn't exist` : `${path} can't be read`)
  })
  if (!stats.isFile()) throw mediaError(`${path} is not a regular file`)
  if (stats.size > MAX_FILE_BYTES) throw mediaError(`${path} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
  const { problem, warning } = await inspectFile(path).catch(() => {
    throw mediaError(`${path} can't be read`)
  })
  if (problem !== null) throw mediaError(`${path} is ${problem.message}`, problem.hint)
  return warning
}

export function printMediaWarnings({ io }: Pick<Deps, 'io'>, { warnings }: Pick<DownloadedMedia, 'warnings'>): void {
  for (const warning of warnings) io.warn(`${io.errPaint.busy('warning:')} ${safe(warning)}`)
}

/**
 * Returns a content hash for each placeholder. A request is thus identified by the content of its files, not by their
 * paths.
 */
export async function hashLocalFiles(files: readonly LocalFile[]): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  for (const { path, placeholder } of files) {
    hashes.set(placeholder, `sha256:${await sha256OfFile(path)}`)
  }
  return hashes
}

/**
 * Uploads each file once. Uploads several files at a time.
 *
 * @param hashes the result of `hashLocalFiles`. A file that has changed since then isn't uploaded.
 * @returns the URL for each placeholder
 */
export async function uploadLocalFiles(
  { io, signals }: Deps,
  client: ApiClient,
  files: readonly LocalFile[],
  hashes: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  if (files.length === 0) return new Map()
  const byPath = new Map<string, string>()
  const paths = new Map(files.map(({ path, placeholder }) => [path, hashes.get(placeholder)?.replace('sha256:', '')]))
  const waiting = paths.entries()
  const text = () => `Uploading files: ${byPath.size} of ${paths.size}`
  const progress = await io.progress(text())
  const work = async () => {
    for (const [path, sha256] of waiting) {
      const { url } = await client.upload(path, basename(path), {
        signal: signals.signal,
        sha256,
      })
      byPath.set(path, url)
      progress.update(text())
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, paths.size) }, work))
  } finally {
    progress.stop()
  }
  return new Map(files.map(({ path, placeholder }) => [placeholder, byPath.get(path) ?? '']))
}

/** Returns the request with its file URLs replaced by those in the map. */
export function replaceUrls<Request extends { metadata: readonly { file_fields: { key: string; url: string }[] }[] }>(
  request: Request,
  urls: ReadonlyMap<string, string>,
): Request {
  return {
    ...request,
    metadata: request.metadata.map((metadata) => ({
      ...metadata,
      file_fields: metadata.file_fields.map(({ key, url }) => ({ key, url: urls.get(url) ?? url })),
    })),
  }
}
