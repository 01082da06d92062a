import type { FileHandle } from 'node:fs/promises'

const WINDOW_BYTES = 256 * 1024

/** A window of at most 256 KiB of a file that is kept in memory, so that files of any size can be read. */
export class FileWindow {
  readonly size: number
  readonly #file: FileHandle
  readonly #buffer: Buffer
  #start = 0
  #length = 0

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.size = size
    this.#buffer = Buffer.alloc(Math.min(WINDOW_BYTES, Math.max(1, size)))
  }

  /**
   * Returns `length` bytes from an offset, or fewer at the end of the file. The bytes are valid until the next call.
   * Most calls read nothing and return no promise. Use `await` only if the result is a promise, because a file can have
   * millions of parts.
   */
  read(offset: number, length: number): Buffer | Promise<Buffer> {
    const end = Math.min(offset + length, this.size)
    if (end <= offset) return EMPTY
    return this.#has(offset, end) ? this.#slice(offset, end) : this.#load(offset, end)
  }

  /** Returns the bytes in memory from an offset on. Returns at least one byte, unless the file ends at the offset. */
  async readBuffered(offset: number): Promise<Buffer> {
    if (offset >= this.size) return EMPTY
    if (!this.#has(offset, offset + 1)) await this.#load(offset, offset + 1)
    return this.#slice(offset, this.#start + this.#length)
  }

  #has(offset: number, end: number): boolean {
    return offset >= this.#start && end <= this.#start + this.#length
  }

  #slice(offset: number, end: number): Buffer {
    return this.#buffer.subarray(offset - this.#start, Math.max(offset, end) - this.#start)
  }

  async #load(offset: number, end: number): Promise<Buffer> {
    if (end - offset > this.#buffer.length) throw new Error('more than a window')
    this.#start = offset
    this.#length = 0
    while (this.#length < this.#buffer.length) {
      const freeBytes = this.#buffer.length - this.#length
      const { bytesRead } = await this.#file.read(this.#buffer, this.#length, freeBytes, offset + this.#length)
      if (bytesRead === 0) break
      this.#length += bytesRead
    }
    // The file may have become shorter in the meantime.
    return this.#slice(offset, Math.min(end, this.#start + this.#length))
  }
}

const EMPTY = Buffer.alloc(0)
