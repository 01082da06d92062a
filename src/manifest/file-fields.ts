import { isAbsolute, resolve } from 'node:path'
import { type Column, SAMPLE_URL } from './columns.ts'
import type { ManifestOptions } from './options.ts'
import type { RowReport } from './report.ts'
import type { ManifestRow } from './row.ts'

type Metadata = ManifestRow['metadata']
type LocalFiles = ManifestRow['localFiles']
type FileField = Metadata['file_fields'][number]

/** Reads the files of a manifest, which are URLs or paths. A local file gets a sample URL until it is uploaded. */
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
      this.#options.onFileUrl?.(url, report.placeOf(at))
      return field
    }
    localFiles.push(this.#localFile(key, url, at, report))
    return { ...field, url: SAMPLE_URL }
  }

  /** Like `take`, for all files of a metadata object. Leaves anything other than a file field to the API contract. */
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
    this.#options.onLocalFile?.(path, report.placeOf(at))
    return { key, path: isAbsolute(path) ? path : resolve(this.#folder, path) }
  }
}

/** Returns whether a file cell is a path: it has no scheme. A single letter before a colon is a Windows drive. */
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
