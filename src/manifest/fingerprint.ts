import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import { type ManifestSource, type OpenSource, openManifestSource } from './source.ts'

/** Increment this when the same bytes result in different rows or problems. */
const READER = 3

/** A hash of everything that determines the rows of a manifest: its bytes, the options, and the folder of its paths. */
export class Fingerprint {
  readonly #source: ManifestSource
  readonly #options: ManifestOptions
  #ofRead: string | null = null

  constructor(source: ManifestSource, options: ManifestOptions) {
    this.#source = source
    this.#options = { ...options, ensNames: undefined }
  }

  /**
   * Fingerprint of the bytes that were read. Null until all are read, and for standard input, which can't be read
   * again.
   */
  get ofRead(): string | null {
    return this.#ofRead
  }

  /** Yields the bytes of a manifest and hashes them. */
  async *watch(open: OpenSource): AsyncIterable<Uint8Array> {
    if ('stdin' in this.#source) return yield* open.bytes
    const hash = createHash('sha256')
    for await (const piece of open.bytes) {
      hash.update(piece)
      yield piece
    }
    this.#ofRead = this.#with(open, hash.digest('hex'))
  }

  /** Returns the fingerprint of the current file, or null if it can't be read. */
  async ofFile(): Promise<string | null> {
    if ('stdin' in this.#source) return null
    try {
      const open = await openManifestSource(this.#source)
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
