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
  /** The `ipfs:` URL that our server returns when the file is uploaded. */
  url: string
}

/** The files of a manifest are often the same few, or each is in one row. */
const MAX_KNOWN = 10_000

/**
 * Reads local files, each once as long as it is remembered, and never as a whole into memory. It reads one at a time:
 * hashing takes most of the time, and each open file has a listener on the signal.
 */
export class LocalContents {
  readonly #known = new BoundedMap<Promise<LocalContent>>(MAX_KNOWN)
  /** The first file of each content, by its URL. */
  readonly #paths = new BoundedMap<string>(MAX_KNOWN)
  readonly #signal: AbortSignal | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @param signal ends reading with its reason */
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

  /** Returns the path of a file that was read and has this URL; null if there is none. */
  pathOf(url: string): string | null {
    return this.#paths.get(url) ?? null
  }
}

async function readLocal(path: string, signal: AbortSignal | undefined): Promise<LocalContent> {
  const { importFile } = await import('ipfs-unixfs-importer')
  const hash = createHash('sha256')
  const content = async function* () {
    for await (const chunk of createReadStream(await existingPath(path), { signal })) {
      hash.update(chunk as Uint8Array)
      yield chunk as Uint8Array
    }
  }
  const nowhere = { put: async <Cid>(cid: Cid): Promise<Cid> => cid }
  try {
    const { cid } = await importFile({ content: content() }, nowhere, importOptions())
    return { sha256: hash.digest('hex'), url: `ipfs://${cid}` }
  } catch (error) {
    signal?.throwIfAborted()
    throw new GdnError('file_error', `can't be read: ${messageOf(error)}`, { place: { file: path }, cause: error })
  }
}
