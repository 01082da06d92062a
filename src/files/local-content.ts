import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { BoundedMap } from '../core/bounded-map.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { importOptions } from './ipfs-import.ts'

/** The hash and the URL that identify the content of a local file. */
export interface LocalContent {
  /** The SHA-256 hash in hexadecimal. */
  sha256: string
  /** The `ipfs:` URL that a gdn backend returns when the file is uploaded. */
  url: string
}

/**
 * Maximum number of files whose hashes are cached. This is enough for most manifests, which use either a few files in
 * many rows, or each file in one row.
 */
const MAX_CACHED_FILES = 10_000

/**
 * Hashes local files as streams, and caches the hashes. Reads one file at a time, because hashing takes most of the
 * time and each open file adds a listener to the signal.
 */
export class LocalContents {
  readonly #known = new BoundedMap<Promise<LocalContent>>(MAX_CACHED_FILES)
  /** The path of the first file with each content, keyed by URL. */
  readonly #paths = new BoundedMap<string>(MAX_CACHED_FILES)
  readonly #signal: AbortSignal | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @param signal aborts reading, so that `read` throws the signal's reason */
  constructor(signal?: AbortSignal) {
    this.#signal = signal
  }

  /** @throws GdnError `file_error` if the file can't be read */
  async read(path: string): Promise<LocalContent> {
    let reading = this.#known.get(path)
    if (reading === undefined) {
      reading = this.#turn.then(() => hashLocalFile(path, this.#signal))
      this.#turn = reading.catch(() => {})
      this.#known.set(path, reading)
    }
    const content = await reading
    if (this.#paths.get(content.url) === undefined) this.#paths.set(content.url, path)
    return content
  }

  /** Returns the path of a file that was read and has this URL; null if there is none. */
  findPath(url: string): string | null {
    return this.#paths.get(url) ?? null
  }
}

async function hashLocalFile(path: string, signal: AbortSignal | undefined): Promise<LocalContent> {
  const hash = createHash('sha256')
  const content = async function* () {
    for await (const chunk of createReadStream(existingPath(path), { signal })) {
      hash.update(chunk as Uint8Array)
      yield chunk as Uint8Array
    }
  }
  try {
    const url = await computeIpfsUrl(content())
    return { sha256: hash.digest('hex'), url }
  } catch (error) {
    signal?.throwIfAborted()
    throw new GdnError('file_error', `can't be read: ${messageOf(error)}`, { place: { file: path }, cause: error })
  }
}

const discardingStore = { put: async <Cid>(cid: Cid): Promise<Cid> => cid }

/** Returns the ipfs URL that a backend assigns to a file with this content. */
export async function computeIpfsUrl(content: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
  const { importFile } = await import('ipfs-unixfs-importer')
  const { cid } = await importFile({ content }, discardingStore, importOptions())
  return `ipfs://${cid}`
}
