import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import type { Span } from '../lines.ts'
import type { AppendFile } from '../types.ts'
import { encodeRecord, type JournalRecord } from './records.ts'

interface Waiting {
  bytes: Buffer
  sync: boolean
  resolve(span: Span): void
  reject(error: unknown): void
}

/** Appends records in order. What is asked for while a write is under way goes into the next one together. */
export class JournalWriter {
  readonly #file: AppendFile
  readonly #path: string
  #end: number
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null
  #failure: GdnError | null = null

  constructor(path: string, file: AppendFile, end: number) {
    this.#path = path
    this.#file = file
    this.#end = end
  }

  /**
   * Resolves when the record is written and, with `sync`, on the disk. After a failure nothing is taken any more:
   * the tail of the file may be anything.
   *
   * @throws GdnError `data_dir`: no space left, not writable, …; `run_busy` once another process has taken over
   */
  append(record: JournalRecord, options: { sync: boolean }): Promise<Span> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes: encodeRecord(record), sync: options.sync, resolve, reject })
      this.#writing ??= this.#write()
    })
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#file.close()
  }

  async #write(): Promise<void> {
    // Lets everything asked for in this turn go along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        if (this.#failure !== null) throw this.#failure
        await this.#file.append(Buffer.concat(batch.map((entry) => entry.bytes)))
        if (batch.some((entry) => entry.sync)) await this.#file.sync()
      } catch (error) {
        this.#failure ??= await this.#fail(error)
        for (const entry of batch) entry.reject(this.#failure)
        continue
      }
      for (const { bytes, resolve } of batch) {
        resolve({ offset: this.#end, length: bytes.length - 1 })
        this.#end += bytes.length
      }
    }
    this.#writing = null
  }

  async #fail(error: unknown): Promise<GdnError> {
    if (error instanceof GdnError) return error
    // Half a line must not stay before what a later process appends; where this fails too, its start cuts it.
    await this.#file.truncate(this.#end).catch(() => undefined)
    const full = systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT'
    return new GdnError(
      'data_dir',
      full
        ? `no space left to write the journal ${this.#path}`
        : `can't write the journal ${this.#path}: ${messageOf(error)}`,
      {
        hint: `${full ? 'make room' : 'put that right'}, then run the same command again: it goes on where it stopped`,
        cause: error,
      },
    )
  }
}
