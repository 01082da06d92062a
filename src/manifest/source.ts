import { createReadStream } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { messageOf, systemCode } from '../core/errors.ts'
import { ManifestError } from './manifest-error.ts'

export type ManifestFormat = 'csv' | 'json' | 'jsonl'

export type ManifestSource =
  | { path: string }
  | { stdin: AsyncIterable<Uint8Array>; format?: ManifestFormat; name?: string }

/** The beginning of a plan file that `gdn plan --out` writes. */
export const PLAN_BEGINNING = '{"gdn_plan":'

export interface OpenSource {
  name: string
  /**
   * The base folder of relative file paths, with symbolic links resolved. A row's files are part of its key, and a run
   * opens its manifest by the real path.
   */
  folder: string
  /** Null if neither the file name nor the caller specifies a format. */
  format: ManifestFormat | null
  bytes: AsyncIterable<Uint8Array>
}

// Reads are large, because each read involves another thread. Chunks are small, so that fewer of their objects survive
// a garbage collection.
const READ_BYTES = 256 * 1024
const PIECE_BYTES = 32 * 1024

const FORMATS: Readonly<Record<string, ManifestFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.txt': 'csv',
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
}

export const NO_MANIFEST_HINT = 'Check the path, or run `gdn batch template` to create a manifest.'

/** Opens a manifest. Rejects a FIFO or a device without opening it, because reading it could block indefinitely. */
export async function openManifestSource(source: ManifestSource): Promise<OpenSource> {
  if ('stdin' in source) {
    return { name: source.name ?? 'stdin', folder: resolve(), format: source.format ?? null, bytes: source.stdin }
  }
  const { path } = source
  const sourceError = (message: string, hint?: string) => new ManifestError({ place: { file: path }, message, hint })
  let folder: string
  try {
    const stats = await stat(path)
    if (stats.isDirectory())
      throw sourceError('is a directory, not a manifest', 'Use the path of a file in the directory.')
    if (stats.isFIFO()) throw sourceError('is a pipe, not a file', 'To read from a pipe, use - as the manifest.')
    if (stats.isSocket()) throw sourceError('is a socket, not a file')
    if (!stats.isFile()) throw sourceError('is a device, not a file', 'To read standard input, use - as the manifest.')
    folder = await realpath(dirname(path))
  } catch (error) {
    if (error instanceof ManifestError) throw error
    if (systemCode(error) === 'ENOENT') throw sourceError("doesn't exist", NO_MANIFEST_HINT)
    throw sourceError(`can't be read: ${messageOf(error)}`)
  }
  const stream = createReadStream(path, { highWaterMark: READ_BYTES })
  return {
    name: path,
    folder,
    format: FORMATS[extname(path).toLowerCase()] ?? null,
    bytes: readableStream(stream, path),
  }
}

async function* readableStream(stream: AsyncIterable<Uint8Array>, path: string): AsyncIterable<Uint8Array> {
  try {
    for await (const chunk of stream) {
      for (let from = 0; from < chunk.length; from += PIECE_BYTES) yield chunk.subarray(from, from + PIECE_BYTES)
    }
  } catch (error) {
    throw new ManifestError({ place: { file: path }, message: `can't be read: ${messageOf(error)}` })
  }
}
