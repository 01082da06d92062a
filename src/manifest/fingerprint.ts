import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import { type ManifestSource, type OpenSource, openSource } from './source.ts'

/** To be counted up when the same bytes give other rows, or other faults, than before. */
const READER = 2

/** What shapes the rows of a manifest, as one hash: its bytes, the options, and where its paths begin. */
export class Fingerprint {
  readonly #source: ManifestSource
  readonly #options: ManifestOptions
  #ofRead: string | null = null

  constructor(source: ManifestSource, options: ManifestOptions) {
    this.#source = source
    this.#options = options
  }

  /** Of the bytes that were read to their end; null before that, and for standard input, which can't be read again. */
  get ofRead(): string | null {
    return this.#ofRead
  }

  /** The bytes of a manifest, hashed as they go by. */
  async *watch(open: OpenSource): AsyncIterable<Uint8Array> {
    if ('stdin' in this.#source) return yield* open.bytes
    const hash = createHash('sha256')
    for await (const piece of open.bytes) {
      hash.update(piece)
      yield piece
    }
    this.#ofRead = this.#with(open, hash.digest('hex'))
  }

  /** Of the file as it is now; null where there is none to be read. */
  async ofFile(): Promise<string | null> {
    if ('stdin' in this.#source) return null
    try {
      const open = await openSource(this.#source)
      const hash = createHash('sha256')
      for await (const piece of open.bytes) hash.update(piece)
      return this.#with(open, hash.digest('hex'))
    } catch (error) {
      if (error instanceof ManifestError) return null
      throw error
    }
  }

  #with({ folder, format }: OpenSource, bytes: string): string {
    const shaping = canonicalJson([READER, folder, format, this.#options, bytes])
    return createHash('sha256').update(shaping).digest('hex')
  }
}
