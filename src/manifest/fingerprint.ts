import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import { type ManifestSource, type OpenSource, openManifestSource } from './source.ts'

/** Version of the reader. Increment it if a change of the reader alters the rows or problems for the same bytes. */
const READER = 3

const AT = 0x40
/** In JSON, the `@` of a name may be written as an escape sequence. */
const BACKSLASH = 0x5c

/**
 * A hash of everything that determines the rows of a manifest: its bytes, the options, and the base folder of its
 * paths. If the manifest may contain a name such as `@alice`, the hash includes the names saved on this machine. The
 * hash doesn't include ENS names, because runs store their addresses.
 */
export class Fingerprint {
  readonly #source: ManifestSource
  readonly #options: ManifestOptions
  readonly #namesDigest: ManifestOptions['namesDigest']
  #ofRead: string | null = null

  constructor(source: ManifestSource, { namesDigest, ...options }: ManifestOptions) {
    this.#source = source
    this.#namesDigest = namesDigest
    this.#options = { ...options, ensNames: undefined }
  }

  /**
   * Fingerprint of the bytes that were read. Null until all bytes are read, and for standard input, which can't be read
   * again.
   */
  get ofRead(): string | null {
    return this.#ofRead
  }

  /** Yields the bytes of a manifest and hashes them. */
  async *watch(open: OpenSource): AsyncIterable<Uint8Array> {
    if ('stdin' in this.#source) return yield* open.bytes
    const bytes = new HashedBytes()
    for await (const piece of open.bytes) {
      bytes.add(piece)
      yield piece
    }
    this.#ofRead = await this.#with(open, bytes)
  }

  /** Returns the fingerprint of the current file, or null if it can't be read. */
  async ofFile(): Promise<string | null> {
    if ('stdin' in this.#source) return null
    try {
      const open = await openManifestSource(this.#source)
      const bytes = new HashedBytes()
      for await (const piece of open.bytes) bytes.add(piece)
      return await this.#with(open, bytes)
    } catch (error) {
      if (error instanceof ManifestError) return null
      throw error
    }
  }

  async #with({ folder, format }: OpenSource, bytes: HashedBytes): Promise<string> {
    const names = bytes.mayHaveNames ? [await this.#namesDigest?.()] : []
    const shaping = canonicalJson([READER, folder, format, this.#options, bytes.digest(), ...names])
    return sha256Hex(shaping)
  }
}

class HashedBytes {
  readonly #hash = createHash('sha256')
  mayHaveNames = false

  add(piece: Uint8Array): void {
    this.#hash.update(piece)
    this.mayHaveNames ||= piece.includes(AT) || piece.includes(BACKSLASH)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}
