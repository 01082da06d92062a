import { type FileHandle, open } from 'node:fs/promises'
import { GdnError, systemCode } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { readLines, readSpan, type Span } from './lines.ts'
import { contentHash, type RowKey } from './row-key.ts'

const FLUSH_BYTES = 1 << 20

/** A row as the run keeps it. */
export interface SpooledRow {
  key: RowKey
  content: string
  row: ManifestRow
}

/**
 * Keeps the rows of a run in the manifest's order, one JSON line each, in a file of the state directory: what came by
 * standard input can be resumed, a manifest edited while it is being sent does no harm, and rows needn't stay in memory.
 */
export class SpoolWriter {
  readonly #file: FileHandle
  #buffer: Buffer[] = []
  #buffered = 0
  #end = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async add(spooled: SpooledRow): Promise<Span> {
    const line = Buffer.from(`${JSON.stringify(spooled)}\n`)
    const span = { offset: this.#end, length: line.length - 1 }
    this.#buffer.push(line)
    this.#buffered += line.length
    this.#end += line.length
    if (this.#buffered >= FLUSH_BYTES) await this.flush()
    return span
  }

  async flush(): Promise<void> {
    await this.#file.appendFile(Buffer.concat(this.#buffer))
    this.#buffer = []
    this.#buffered = 0
  }
}

function parse(line: Buffer | null, path: string): SpooledRow {
  try {
    const spooled = JSON.parse(line?.toString('utf8') ?? '') as SpooledRow
    if (contentHash(spooled.row) === spooled.content) return spooled
  } catch {
    // Told below.
  }
  throw new GdnError('data_dir', `the rows kept in ${path} are damaged`, {
    hint: 'run the batch from its manifest again: what was sent stands in the journal, and is not sent twice',
  })
}

/** The rows of a spool from its beginning; none where there is no such file. */
export async function* readSpool(path: string): AsyncGenerator<SpooledRow> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (file === null) return
  try {
    for await (const { line } of readLines(file)) yield parse(line, path)
  } finally {
    await file.close()
  }
}

/** Reads single rows. */
export class SpoolReader {
  readonly #file: FileHandle
  readonly #path: string

  private constructor(file: FileHandle, path: string) {
    this.#file = file
    this.#path = path
  }

  static async open(path: string): Promise<SpoolReader> {
    return new SpoolReader(await open(path, 'r'), path)
  }

  async read(span: Span): Promise<SpooledRow> {
    return parse(await readSpan(this.#file, span), this.#path)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
