import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { BoundedMap } from '../core/bounded-map.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { existingPath } from '../core/existing-path.ts'
import { importOptions } from './ipfs-import.ts'

/** The hash and size that identify the content of a local file. */
export interface LocalContent {
  /** In hexadecimal. */
  sha256: string
  /** The `ipfs:` URL that a gdn backend returns for an upload of the file. */
  url: string
}

/** Enough for most manifests: they use the same few files in many rows, or each file in one row. */
const MAX_KNOWN = 10_000

/**
 * Reads local files as streams and remembers their content. Reads one file at a time, because hashing takes most of the
 * time, and each open file adds a listener to the signal.
 */
export class LocalContents {
  readonly #known = new BoundedMap<Promise<LocalContent>>(MAX_KNOWN)
  /** The first file with each content, by URL. */
  readonly #paths = new BoundedMap<string>(MAX_KNOWN)
  readonly #signal: AbortSignal | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @param signal aborts reading, which then throws the signal's reason */
  constructor(signal?: AbortSignal) {
    this.#signal = signal
  }

  /** @throws GdnError `file_error` if the file can't be read */
  async of(path: string): Promise<LocalContent> {
    let reading = this.#known.get(path)
    if (reading === undefined) {
      reading = this.#turn.then(() => readLocal(path, this.#signal))
      this.#turn = reading.catch(() => {})
      this.#known.set(path, reading)
    }
    const content = await reading
    if (this.#paths.get(content.url) === undefined) this.#paths.set(content.url, path)
    return content
  }

  /** Returns the path of a file that was read and has this URL, or null. */
  pathOf(url: string): string | null {
    return this.#paths.get(url) ?? null
  }
}

async function readLocal(path: string, signal: AbortSignal | undefined): Promise<LocalContent> {
  const hash = createHash('sha256')
  const content = async function* () {
    for await (const chunk of createReadStream(existingPath(path), { signal })) {
      hash.update(chunk as Uint8Array)
      yield chunk as Uint8Array
    }
  }
  try {
    const url = await ipfsUrlOf(content())
    return { sha256: hash.digest('hex'), url }
  } catch (error) {
    signal?.throwIfAborted()
    throw new GdnError('file_error', `can't be read: ${messageOf(error)}`, { place: { file: path }, cause: error })
  }
}

const nowhere = { put: async <Cid>(cid: Cid): Promise<Cid> => cid }

/** Returns the ipfs URL that a backend gives to a file with this content. */
export async function ipfsUrlOf(content: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
  const { importFile } = await import('ipfs-unixfs-importer')
  const { cid } = await importFile({ content }, nowhere, importOptions())
  return `ipfs://${cid}`
}
