import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { GdnError, systemCode } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { addressKey } from '../operations/reconcile/owners.ts'
import { readLines, readSpan, type Span } from './lines.ts'
import { type RowKey, rowKey } from './row-key.ts'
import { contentHash, rowOfParts, SEPARATOR } from './row-text.ts'
import { indexBeside } from './run-files.ts'

const FLUSH_BYTES = 1 << 20
// What a block of a manifest adds fits beside what isn't worth writing yet.
const BUFFER_BYTES = FLUSH_BYTES * 1.5
const CHARS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const NEWLINE = 10
const MAX_UTF8 = 3
const FORMAT = 'gdn rows 2'
const HEADER = /^gdn rows 2 [0-9a-f]{32}$/
/** Where the first row of a spool begins. */
export const FIRST_ROW = FORMAT.length + 1 + 32 + 1
// Before what names a row.
const ID = '='
const COPY = '#'
// No line number begins so.
const ESCAPED = '\\'

/** A row as the run keeps it. */
export interface SpooledRow {
  key: RowKey
  content: string
  row: ManifestRow
}

/** A row that is to be kept: its texts, and which copy of its content it is. */
export interface RowToKeep {
  row: ManifestRow
  content: string
  copy: number
  /** `kept` of `rowTexts`. */
  text: string
  /** The receiver as the text has it. */
  to: string
}

/**
 * Keeps the rows of a run in the manifest's order in a file of the state directory: what came by standard input can be
 * resumed, a manifest edited while it is being sent does no harm, and rows needn't stay in memory.
 *
 * The first line says what the file is, and has a number of its own, by which an index knows it. A row is a line of parts between NULs: line, id or number of the copy, the addresses where they are spelt in another
 * case than in the text; a check of these; the content hash, which is the check of the rest; the row's text.
 */
export class SpoolWriter {
  readonly #file: FileHandle
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #spare = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #filled = 0
  #written = 0
  #writing: Promise<void> = Promise.resolve()
  /** What the first line says, without its line end. */
  readonly header = `${FORMAT} ${randomBytes(16).toString('hex')}`

  constructor(file: FileHandle) {
    this.#file = file
    this.#filled = this.#buffer.write(`${this.header}\n`)
  }

  /** Bytes of all that was added. */
  get size(): number {
    return this.#written + this.#filled
  }

  /** Takes a row, and tells the length of its line. `flushIfFull` is to be called from time to time. */
  add({ row, content, copy, text, to }: RowToKeep): number {
    const { line, id, receiver, sender } = row
    const name = id === null ? `${COPY}${copy}` : `${ID}${id}`
    const head = `${line}\0${name}\0${receiver === to ? '' : receiver}\0${spelling(sender)}\0`
    const whole = `${head}${checkOf(head)}\0${content}\0${text}`
    const kept = whole.includes('\n') ? escaped(whole) : whole
    const most = kept.length * MAX_UTF8 + 1
    if (this.#buffer.length - this.#filled < most) this.#makeRoom(most)
    const length = this.#buffer.write(kept, this.#filled)
    this.#buffer[this.#filled + length] = NEWLINE
    this.#filled += length + 1
    return length
  }

  /** Begins to write what has gathered, if that is much; more rows may be added meanwhile. */
  async flushIfFull(): Promise<void> {
    if (this.#filled >= FLUSH_BYTES) await this.#startWriting()
  }

  async flush(): Promise<void> {
    await this.#startWriting()
    await this.#writing
  }

  async #startWriting(): Promise<void> {
    await this.#writing
    const full = this.#buffer
    this.#writing = this.#file.appendFile(full.subarray(0, this.#filled))
    // Whoever awaits it next is told.
    this.#writing.catch(() => {})
    this.#buffer = this.#spare
    // A buffer that had to grow for one long row isn't kept.
    this.#spare = full.length > BUFFER_BYTES * 2 ? Buffer.allocUnsafeSlow(BUFFER_BYTES) : full
    this.#written += this.#filled
    this.#filled = 0
  }

  #makeRoom(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#filled + bytes))
    this.#buffer.copy(grown, 0, 0, this.#filled)
    this.#buffer = grown
  }
}

/** An address as the row has it; nothing where the text spells it so too. */
function spelling(address: string | null): string {
  return address === null || addressKey(address) === address ? '' : address
}

/** Four characters of an FNV-1a hash. */
function checkOf(head: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < head.length; index++) hash = Math.imul(hash ^ head.charCodeAt(index), 0x01000193)
  hash ^= hash >>> 15
  return `${CHARS[hash & 63]}${CHARS[(hash >>> 6) & 63]}${CHARS[(hash >>> 12) & 63]}${CHARS[(hash >>> 18) & 63]}`
}

/** A line feed would end the line; what begins so is read back. */
function escaped(line: string): string {
  return `${ESCAPED}${line.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`
}

function unescaped(line: string): string {
  if (!line.startsWith(ESCAPED)) return line
  return line.slice(1).replaceAll(/\\[\\n]/g, (pair) => (pair === '\\n' ? '\n' : '\\'))
}

/** Tells damage. What leads to the rows without the manifest goes first: it must not lead there again. */
async function refuse(path: string): Promise<never> {
  await rm(indexBeside(path), { force: true }).catch(() => {})
  throw new GdnError('data_dir', `the rows kept in ${path} are damaged`, {
    hint: 'run the batch from its manifest again: what was sent stands in the journal, and is not sent twice',
  })
}

function parse(line: Buffer | null): SpooledRow | null {
  return line === null ? null : rowOf(unescaped(line.toString('utf8')).split(SEPARATOR))
}

function rowOf([line = '', name = '', receiver = '', sender = '', check, content = '', ...parts]: string[]) {
  if (checkOf(`${line}\0${name}\0${receiver}\0${sender}\0`) !== check) return null
  try {
    const id = name.startsWith(ID) ? name.slice(ID.length) : null
    const row: ManifestRow = { line: Number(line), id, ...rowOfParts(parts) }
    if (contentHash(row) !== content) return null
    if (receiver !== '') row.receiver = receiver
    if (sender !== '') row.sender = sender
    return { key: rowKey(id, content, Number(name.slice(COPY.length))), content, row }
  } catch {
    return null
  }
}

/** The rows of a spool from its beginning; none where there is no such file. */
export async function* readSpool(path: string): AsyncGenerator<SpooledRow> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (file === null) return
  try {
    let isFirst = true
    for await (const { line, ended } of readLines(file)) {
      if (!isFirst) yield parse(ended ? line : null) ?? (await refuse(path))
      else if (!ended || !HEADER.test(line.toString('latin1'))) await refuse(path)
      isFirst = false
    }
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

  /** What the first line says, and how long the file is; null for what is no spool of ours. */
  async identity(): Promise<{ header: string; size: number } | null> {
    const { size } = await this.#file.stat()
    const header = (await readSpan(this.#file, { offset: 0, length: FIRST_ROW - 1 }))?.toString('latin1') ?? ''
    return HEADER.test(header) ? { header, size } : null
  }

  async read(span: Span): Promise<SpooledRow> {
    return parse(await readSpan(this.#file, span)) ?? (await refuse(this.#path))
  }

  /** The rows of a request. What stands at their places must be the rows that were planned, for one receiver. */
  async readAll(
    planned: readonly { row: number; span: Span }[],
    numberOf: (key: RowKey) => number,
  ): Promise<SpooledRow[]> {
    const rows = await Promise.all(planned.map(({ span }) => this.read(span)))
    const [first] = rows
    const isRight = ({ key, row: { receiver, sender } }: SpooledRow, index: number) =>
      numberOf(key) === planned[index]?.row &&
      addressKey(receiver) === addressKey(first?.row.receiver ?? '') &&
      addressKey(sender ?? '') === addressKey(first?.row.sender ?? '')
    return rows.every(isRight) ? rows : await refuse(this.#path)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
